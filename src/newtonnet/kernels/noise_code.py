"""LLVM code of dropout: which numbers of a row are kept, from a hash of key and place, and a block so masked."""

from .row_code import Part, Row, module_code

STEP = 0x9E3779B97F4A7C15
"""The odd number that the words of a key's stream are apart before they are mixed."""

MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and multipliers that mix a word; a last shift by 31 follows (SplitMix64: Steele, Lea, Flood, 2014)."""

LAST_SHIFT = 31

PER_WORD = 4
"""Numbers of 16 bits that a word decides on."""


def drop_code(row: Row) -> str:
    """``drop``: rows lo to hi of every member, each number times ``scale`` or 0 as the member's key decides."""
    kind = row.kind
    code = (
        "define void @drop(ptr noalias %x, ptr noalias %out, ptr noalias %keys, i64 %members, i16 %threshold, "
        f"{kind} %scale, i64 %lo, i64 %hi) {{\nentry:\n%any = icmp slt i64 %lo, %hi\n"
        "br i1 %any, label %row, label %exit\nrow:\n%i = phi i64 [%lo, %entry], [%i.next, %row.end]\n"
        "%i.next = add i64 %i, 1\n%start = mul i64 %i, %members\n"
        f"%word = mul i64 %i, {words(row.width)}\nbr label %member\n"
        "member:\n%p = phi i64 [0, %row], [%p.next, %member]\n%p.next = add i64 %p, 1\n"
        "%key.p = getelementptr i64, ptr %keys, i64 %p\n%key = load i64, ptr %key.p\n%at = add i64 %start, %p\n"
        f"%far = mul i64 %at, {row.width}\n%x.row = getelementptr {kind}, ptr %x, i64 %far\n"
        f"%out.row = getelementptr {kind}, ptr %out, i64 %far\n"
    )
    for q, part in enumerate(row.parts):
        code += row.load(f"%v{q}", "%x.row", part)
        code += keep_code(row, f"%w{q}", f"%v{q}", part) + row.store(f"%w{q}", "%out.row", part)
    code += "%again = icmp slt i64 %p.next, %members\nbr i1 %again, label %member, label %row.end\nrow.end:\n"
    code += "%go = icmp slt i64 %i.next, %hi\nbr i1 %go, label %row, label %exit\nexit:\nret void\n}\n"
    return module_code(row, code)


def keep_code(row: Row, name: str, value: str, part: Part) -> str:
    """``name`` = ``value`` times %scale where kept, else 0; reads %key, %word (the row's first), %threshold."""
    offset, lanes, _ = part
    count = max(1, lanes // PER_WORD)
    wide = f"<{count} x i64>"
    places = ", ".join(f"i64 {offset // PER_WORD + k + 1}" for k in range(count))
    code = ""
    for source in ("key", "word"):
        code += f"{name}.{source}0 = insertelement {wide} poison, i64 %{source}, i32 0\n"
        code += (
            f"{name}.{source} = shufflevector {wide} {name}.{source}0, {wide} poison, <{count} x i32> zeroinitializer\n"
        )
    code += f"{name}.n = add {wide} {name}.word, <{places}>\n"
    code += f"{name}.m = mul {wide} {name}.n, {_all(STEP, count)}\n{name}.z0 = add {wide} {name}.m, {name}.key\n"
    for k, (shift, factor) in enumerate(MIX):
        code += f"{name}.s{k} = lshr {wide} {name}.z{k}, {_all(shift, count)}\n"
        code += f"{name}.t{k} = xor {wide} {name}.z{k}, {name}.s{k}\n"
        code += f"{name}.z{k + 1} = mul {wide} {name}.t{k}, {_all(factor, count)}\n"
    code += (
        f"{name}.sl = lshr {wide} {name}.z2, {_all(LAST_SHIFT, count)}\n{name}.h = xor {wide} {name}.z2, {name}.sl\n"
    )
    short = f"<{PER_WORD * count} x i16>"
    code += f"{name}.b = bitcast {wide} {name}.h to {short}\n"
    first = offset % PER_WORD  # a part that is narrower than a word may begin inside one
    kept = f"<{lanes} x i32> <{', '.join(f'i32 {first + k}' for k in range(lanes))}>"
    code += f"{name}.c = shufflevector {short} {name}.b, {short} poison, {kept}\n"
    code += f"{name}.l0 = insertelement <{lanes} x i16> poison, i16 %threshold, i32 0\n"
    code += (
        f"{name}.l = shufflevector <{lanes} x i16> {name}.l0, <{lanes} x i16> poison, <{lanes} x i32> zeroinitializer\n"
    )
    code += f"{name}.keep = icmp uge <{lanes} x i16> {name}.c, {name}.l\n"
    code += row.spread(f"{name}.scale", "%scale", lanes) + row.multiply(f"{name}.v", value, f"{name}.scale", lanes)
    kind, mask = row.type(lanes), f"<{lanes} x i1> {name}.keep"
    if lanes == 1:
        code += f"{name}.one = extractelement <1 x i1> {name}.keep, i32 0\n"
        mask = f"i1 {name}.one"
    return code + f"{name} = select {mask}, {kind} {name}.v, {kind} {row.zero(lanes)}\n"


def words(width: int) -> int:
    """Words that decide on a row of this width; every row starts a new one."""
    return -(-width // PER_WORD)


def _all(number: int, count: int) -> str:
    return f"<{', '.join([f'i64 {number}'] * count)}>"
