"""LLVM code that leaves the zeros out of a sparse matrix, so that a product has less to fetch."""

from .product_code import AHEAD


def thin_code(kind: str, *, lanes: int, ordered: bool) -> str:
    """``thin``: the entries of a CSR matrix that are not 0, as another CSR matrix.

    A product sums a row's entries in ``lanes`` sums side by side and adds what is left over one by one. Every entry
    stays in its own sum, and sums that lose more than others are filled up with zeros: the product's bits stay as
    they were.

    Args:
        kind: ``float`` or ``double``.
        lanes: entries that the product sums side by side.
        ordered: the value of entry e is values[order[e]] instead of values[e].
    """

    def read(tag: str, at: str) -> str:
        code = f"%c.{tag}.p = getelementptr i32, ptr %columns, i64 {at}\n%c.{tag} = load i32, ptr %c.{tag}.p\n"
        place = at
        if ordered:
            code += f"%o.{tag}.p = getelementptr i64, ptr %order, i64 {at}\n%o.{tag} = load i64, ptr %o.{tag}.p\n"
            place = f"%o.{tag}"
        return code + (
            f"%v.{tag}.p = getelementptr {kind}, ptr %values, i64 {place}\n%v.{tag} = load {kind}, ptr %v.{tag}.p\n"
        )

    def write(tag: str, at: str, column: str, value: str) -> str:
        return (
            f"%to.{tag}.c = getelementptr i32, ptr %new.columns, i64 {at}\nstore i32 {column}, ptr %to.{tag}.c\n"
            f"%to.{tag}.v = getelementptr {kind}, ptr %new.values, i64 {at}\nstore {kind} {value}, ptr %to.{tag}.v\n"
        )

    each = range(lanes)
    starts = "".join(f"%s.{k} = add i64 %base, {k}\n" for k in each)
    phis = "".join(f"%a.{k} = phi i64 [%s.{k}, %row], [%b.{k}, %body]\n" for k in each)
    # A zero is written too, and overwritten by what comes next in its sum.
    body = "".join(
        f"%t.{k} = add i64 %t, {k}\n{read(str(k), f'%t.{k}')}{write(str(k), f'%a.{k}', f'%c.{k}', f'%v.{k}')}"
        f"%kept.{k} = fcmp une {kind} %v.{k}, 0.0\n%step.{k} = select i1 %kept.{k}, i64 {lanes}, i64 0\n"
        f"%b.{k} = add i64 %a.{k}, %step.{k}\n"
        for k in each
    )
    ends = "".join(f"%d.{k} = phi i64 [%s.{k}, %row], [%b.{k}, %body]\n" for k in each)
    ends += "".join(f"%w.{k} = sub i64 %d.{k}, {k}\n" for k in each)
    longest = "%w.0"
    for k in each[1:]:
        ends += f"%over.{k} = icmp sgt i64 %w.{k}, {longest}\n"
        ends += f"%m.{k} = select i1 %over.{k}, i64 %w.{k}, i64 {longest}\n"
        longest = f"%m.{k}"
    fills, before = "br label %fill.0\n", "fold"
    for k in each:
        after = f"fill.{k + 1}" if k + 1 < lanes else "tail"
        fills += (
            f"fill.{k}:\n%f.{k} = phi i64 [%d.{k}, %{before}], [%g.{k}, %put.{k}]\n%at.{k} = sub i64 %f.{k}, {k}\n"
            f"%short.{k} = icmp slt i64 %at.{k}, {longest}\nbr i1 %short.{k}, label %put.{k}, label %{after}\n"
            f"put.{k}:\n{write(f'z{k}', f'%f.{k}', '0', '0.0')}%g.{k} = add i64 %f.{k}, {lanes}\nbr label %fill.{k}\n"
        )
        before = f"fill.{k}"
    return f"""declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @thin(ptr noalias %rows, ptr noalias %columns, ptr noalias %values, ptr noalias %order,
ptr noalias %new.rows, ptr noalias %new.columns, ptr noalias %new.values, i64 %n) {{
entry:
store i32 0, ptr %new.rows
br label %next.row
next.row:
%i = phi i64 [0, %entry], [%i.next, %row.end]
%base = phi i64 [0, %entry], [%base.next, %row.end]
%any = icmp slt i64 %i, %n
br i1 %any, label %row, label %exit
row:
%i.next = add i64 %i, 1
%first.p = getelementptr i32, ptr %rows, i64 %i
%last.p = getelementptr i32, ptr %rows, i64 %i.next
%first.32 = load i32, ptr %first.p
%last.32 = load i32, ptr %last.p
%first = zext i32 %first.32 to i64
%last = zext i32 %last.32 to i64
%entries = sub i64 %last, %first
%rounds = udiv i64 %entries, {lanes}
%even = mul i64 %rounds, {lanes}
%middle = add i64 %first, %even
{starts}%many = icmp ult i64 %first, %middle
br i1 %many, label %body, label %fold
body:
%t = phi i64 [%first, %row], [%t.next, %body]
{phis}{body}%t.next = add i64 %t, {lanes}
%more = icmp ult i64 %t.next, %middle
br i1 %more, label %body, label %fold
fold:
{ends}{fills}tail:
%r = phi i64 [%middle, %{before}], [%r.next, %rest]
%e = phi i64 [{longest}, %{before}], [%e.next, %rest]
%left = icmp ult i64 %r, %last
br i1 %left, label %rest, label %row.end
rest:
{read("r", "%r")}{write("r", "%e", "%c.r", "%v.r")}%r.next = add i64 %r, 1
%e.next = add i64 %e, 1
br label %tail
row.end:
%base.next = phi i64 [%e, %tail]
%base.32 = trunc i64 %base.next to i32
%end.p = getelementptr i32, ptr %new.rows, i64 %i.next
store i32 %base.32, ptr %end.p
br label %next.row
exit:
%behind = getelementptr i32, ptr %new.columns, i64 %base
call void @llvm.memset.p0.i64(ptr %behind, i8 0, i64 {4 * AHEAD}, i1 false)
ret void
}}
"""
