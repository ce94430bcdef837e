"""LLVM code that counts the edges whose two ends have equal classes, for every member."""

SIDE_BY_SIDE = 4
"""Pairs looked at side by side; the rest of them are looked at one by one."""


def agree_code(*, alone: bool) -> str:
    """``agree``: counts[p] = number of pairs (a, b) with classes[a, p] = classes[b, p]; pairs int32, classes int16.

    Args:
        alone: there is one member, so a node's number is its place.
    """

    def look(tag: str, at: str) -> str:
        code = ""
        for side in ("one", "two"):
            name = f"%{side}.{tag}"
            code += f"{name}.p = getelementptr i32, ptr %{side}, i64 {at}\n{name}.32 = load i32, ptr {name}.p\n"
            code += f"{name}.n = zext i32 {name}.32 to i64\n"
            place = f"{name}.n"
            if not alone:
                code += f"{name}.r = mul i64 {name}.n, %members\n{name}.o = add i64 {name}.r, %p\n"
                place = f"{name}.o"
            code += f"{name}.c = getelementptr i16, ptr %classes, i64 {place}\n{name}.k = load i16, ptr {name}.c\n"
        return code + f"%same.{tag} = icmp eq i16 %one.{tag}.k, %two.{tag}.k\n%add.{tag} = zext i1 %same.{tag} to i64\n"

    many, sums = "", "%sum"
    for k in range(SIDE_BY_SIDE):
        many += f"%e.{k} = add i64 %e, {k}\n" + look(str(k), f"%e.{k}") + f"%sum.{k} = add i64 {sums}, %add.{k}\n"
        sums = f"%sum.{k}"
    return f"""define void @agree(ptr noalias %one, ptr noalias %two, ptr noalias %classes, ptr noalias %counts,
i64 %pairs, i64 %members) {{
entry:
%rounds = udiv i64 %pairs, {SIDE_BY_SIDE}
%even = mul i64 %rounds, {SIDE_BY_SIDE}
%full = icmp sgt i64 %even, 0
br label %member
member:
%p = phi i64 [0, %entry], [%p.next, %member.end]
%p.next = add i64 %p, 1
br i1 %full, label %pair, label %rest
pair:
%e = phi i64 [0, %member], [%e.next, %pair]
%sum = phi i64 [0, %member], [{sums}, %pair]
%e.next = add i64 %e, {SIDE_BY_SIDE}
{many}%more = icmp slt i64 %e.next, %even
br i1 %more, label %pair, label %rest
rest:
%r = phi i64 [0, %member], [%even, %pair], [%r.next, %last]
%left = phi i64 [0, %member], [{sums}, %pair], [%left.next, %last]
%odd = icmp slt i64 %r, %pairs
br i1 %odd, label %last, label %member.end
last:
{look("last", "%r")}%left.next = add i64 %left, %add.last
%r.next = add i64 %r, 1
br label %rest
member.end:
%count = getelementptr i64, ptr %counts, i64 %p
store i64 %left, ptr %count
%go = icmp slt i64 %p.next, %members
br i1 %go, label %member, label %exit
exit:
ret void
}}
"""
