"""LLVM code that counts the edges whose two ends have equal classes, for every member."""


def agree_code() -> str:
    """``agree``: counts[p] = number of pairs (a, b) with classes[a, p] = classes[b, p]; pairs int32, classes int16."""
    sides = ""
    for side in ("one", "two"):
        sides += (
            f"%{side}.p = getelementptr i32, ptr %{side}, i64 %e\n%{side}.32 = load i32, ptr %{side}.p\n"
            f"%{side}.n = zext i32 %{side}.32 to i64\n%{side}.r = mul i64 %{side}.n, %members\n"
            f"%{side}.o = add i64 %{side}.r, %p\n%{side}.c = getelementptr i16, ptr %classes, i64 %{side}.o\n"
            f"%{side}.k = load i16, ptr %{side}.c\n"
        )
    return f"""define void @agree(ptr noalias %one, ptr noalias %two, ptr noalias %classes, ptr noalias %counts,
i64 %pairs, i64 %members) {{
entry:
%any = icmp sgt i64 %pairs, 0
br i1 %any, label %member, label %exit
member:
%p = phi i64 [0, %entry], [%p.next, %member.end]
%p.next = add i64 %p, 1
br label %pair
pair:
%e = phi i64 [0, %member], [%e.next, %pair]
%sum = phi i64 [0, %member], [%sum.next, %pair]
%e.next = add i64 %e, 1
{sides}%same = icmp eq i16 %one.k, %two.k
%add = zext i1 %same to i64
%sum.next = add i64 %sum, %add
%more = icmp slt i64 %e.next, %pairs
br i1 %more, label %pair, label %member.end
member.end:
%count = getelementptr i64, ptr %counts, i64 %p
store i64 %sum.next, ptr %count
%go = icmp slt i64 %p.next, %members
br i1 %go, label %member, label %exit
exit:
ret void
}}
"""
