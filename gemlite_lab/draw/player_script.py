"""The scripts of a player.

Buttons and slider carry them as attributes, and find their parts within their own player: so any
number of players works in one page, without ids.
"""

SHOW = """
const root=this.closest('.gemlite-play'),all=JSON.parse(root.dataset.frames),
at=all.frames[this.value],text=n=>all.texts[at[n]],
each=(name,change)=>root.querySelectorAll('.'+name).forEach(change);
all.texts_of.forEach((name,n)=>{const labels=text(n).split('|');
each(name,(e,i)=>{e.textContent=labels[i]})});
all.paths_of.forEach((name,n)=>
each(name,e=>e.setAttribute('d',text(all.texts_of.length+n))));
const doing=text(at.length-3);
each('lane',(e,i)=>{const color=all.fills[doing[i]];e.setAttribute('fill',color||'none');
e.setAttribute('stroke-dasharray',doing[i]=='w'?'3':'none')});
all.in_box.forEach(name=>each(name,(e,i)=>
e.setAttribute('fill',all.fills[doing[i]]?all.ink:'currentColor')));
each('under',e=>{e.textContent=text(at.length-2)});
const lines=text(at.length-1).split(',');
each('code',(e,i)=>{const n=lines.indexOf(''+i);
e.style.background=n<0?'none':n?all.calling:all.here});
const mark=root.querySelectorAll('.code')[lines[0]],excerpt=root.querySelector('pre');
if(mark)excerpt.scrollTop=mark.offsetTop-excerpt.offsetTop-excerpt.clientHeight/3;
each('cursor',e=>e.setAttribute('x',this.value*all.stride));
const said=root.querySelectorAll('.step')[this.value].querySelector('b').textContent;
each('said',e=>{e.textContent=said});this.setAttribute('aria-valuetext',said);
root.querySelector('svg').setAttribute('aria-label',said)
""".replace("\n", "")
KEYS = (
    "if(['ArrowLeft','ArrowRight'].includes(event.key)){"
    "const s=this.querySelector('input');event.key=='ArrowLeft'?s.stepDown():s.stepUp();"
    "s.oninput();event.preventDefault()}"
)
