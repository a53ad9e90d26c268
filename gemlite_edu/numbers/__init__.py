"""What a code stands for, and how far a result may be off."""
