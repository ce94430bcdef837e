"""LLVM code that reads predictions off logits and counts the right ones, in one pass over the nodes."""


def judge_code(kind: str) -> str:
    """``judge``: the first largest of the C logits, counts of the right ones in three parts, and classes.

    A class is the label where the node is in the first part, which trains, and the prediction elsewhere.

    ``parts`` holds for every node and member one bit for each part it belongs to; ``sound[p]`` becomes 0 where a logit
    of the member is not finite, and stays as it is elsewhere.
    """
    parts = ""
    for part in range(3):
        parts += f"""%bit{part} = lshr i8 %in, {part}
%one{part} = and i8 %bit{part}, 1
%hit{part} = select i1 %right, i8 %one{part}, i8 0
%hit{part}.64 = zext i8 %hit{part} to i64
%place{part} = mul i64 %members, {part}
%slot{part} = add i64 %place{part}, %p
%count{part}.p = getelementptr i64, ptr %counts, i64 %slot{part}
%count{part} = load i64, ptr %count{part}.p
%more{part} = add i64 %count{part}, %hit{part}.64
store i64 %more{part}, ptr %count{part}.p
"""
    return f"""define void @judge(ptr noalias %logits, ptr noalias %labels, ptr noalias %parts, ptr noalias %classes,
ptr noalias %counts, ptr noalias %sound, i64 %nodes, i64 %members, i64 %choices) {{
entry:
%any = icmp sgt i64 %nodes, 0
br i1 %any, label %node, label %exit
node:
%i = phi i64 [0, %entry], [%i.next, %node.end]
%i.next = add i64 %i, 1
%label.p = getelementptr i64, ptr %labels, i64 %i
%label = load i64, ptr %label.p
br label %member
member:
%p = phi i64 [0, %node], [%p.next, %member.end]
%p.next = add i64 %p, 1
%row = mul i64 %i, %members
%at = add i64 %row, %p
%from = mul i64 %at, %choices
%first.p = getelementptr {kind}, ptr %logits, i64 %from
%first = load {kind}, ptr %first.p
%first.null = fmul {kind} %first, 0.0
br label %choice
choice:
%c = phi i64 [1, %member], [%c.next, %better]
%best = phi i64 [0, %member], [%best.next, %better]
%top = phi {kind} [%first, %member], [%top.next, %better]
%null = phi {kind} [%first.null, %member], [%null.next, %better]
%go = icmp slt i64 %c, %choices
br i1 %go, label %better, label %member.end
better:
%c.next = add i64 %c, 1
%x.o = add i64 %from, %c
%x.p = getelementptr {kind}, ptr %logits, i64 %x.o
%x = load {kind}, ptr %x.p
%above = fcmp ogt {kind} %x, %top
%best.next = select i1 %above, i64 %c, i64 %best
%top.next = select i1 %above, {kind} %x, {kind} %top
%x.null = fmul {kind} %x, 0.0
%null.next = fadd {kind} %null, %x.null
br label %choice
member.end:
%in.p = getelementptr i8, ptr %parts, i64 %at
%in = load i8, ptr %in.p
%told.bit = and i8 %in, 1
%told = icmp ne i8 %told.bit, 0
%known = select i1 %told, i64 %label, i64 %best
%class = trunc i64 %known to i16
%class.p = getelementptr i16, ptr %classes, i64 %at
store i16 %class, ptr %class.p
%right = icmp eq i64 %best, %label
{parts}%finite = fcmp oeq {kind} %null, 0.0
%sound.p = getelementptr i8, ptr %sound, i64 %p
%sound.old = load i8, ptr %sound.p
%sound.new = select i1 %finite, i8 %sound.old, i8 0
store i8 %sound.new, ptr %sound.p
%again = icmp slt i64 %p.next, %members
br i1 %again, label %member, label %node.end
node.end:
%on = icmp slt i64 %i.next, %nodes
br i1 %on, label %node, label %exit
exit:
ret void
}}
"""
