# Answers of learners: the checker's tests read them, nobody imports them.
collect_ignore = ["wrong", "right"]
