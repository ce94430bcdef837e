"""LLVM code of one optimiser step over a whole parameter: every number is read and written once."""

import struct

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def adam_code(kind: str, lanes: int, *, decoupled: bool) -> str:
    """``adam``: Adam's step for a parameter seen as (outer, members, inner), rates and decays by member.

    Args:
        kind: ``float`` or ``double``.
        lanes: numbers handled at once.
        decoupled: shrink the parameter itself by rate times decay, instead of adding the decay to the gradient.
    """
    bits = {"float": 32, "double": 64}[kind]
    vector, mask, suffix = f"<{lanes} x {kind}>", f"<{lanes} x i1>", f"v{lanes}f{bits}"
    lane_numbers = ", ".join(f"i64 {k}" for k in range(lanes))

    def spread(name: str, scalar: str, of: str = kind) -> str:
        wide = f"<{lanes} x {of}>"
        return (
            f"{name}.0 = insertelement {wide} poison, {of} {scalar}, i32 0\n"
            f"{name} = shufflevector {wide} {name}.0, {wide} poison, <{lanes} x i32> zeroinitializer\n"
        )

    def constant(number: float) -> str:
        # LLVM reads a float's constant as the double that the float is.
        exact = struct.unpack("f", struct.pack("f", number))[0] if kind == "float" else number
        return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"

    def load(name: str, block: str) -> str:
        return (
            f"%{block}.p{name[1:]} = getelementptr {kind}, ptr %{block}, i64 %at\n"
            f"{name} = call {vector} @llvm.masked.load.{suffix}.p0(ptr %{block}.p{name[1:]}, i32 {bits // 8}, "
            f"{mask} %mask, {vector} zeroinitializer)\n"
        )

    def store(name: str, block: str) -> str:
        return (
            f"%{block}.s = getelementptr {kind}, ptr %{block}, i64 %at\ncall void @llvm.masked.store.{suffix}.p0("
            f"{vector} {name}, ptr %{block}.s, i32 {bits // 8}, {mask} %mask)\n"
        )

    head = f"""declare {vector} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {vector})
declare void @llvm.masked.store.{suffix}.p0({vector}, ptr, i32, {mask})
declare {vector} @llvm.sqrt.{suffix}({vector})
define void @adam(ptr noalias %value, ptr noalias %gradient, ptr noalias %first, ptr noalias %second, ptr %rates,
ptr %decays, i64 %outer, i64 %members, i64 %inner, {kind} %by.first, {kind} %by.second) {{
entry:
%segments = mul i64 %outer, %members
%any = icmp sgt i64 %segments, 0
br i1 %any, label %segment, label %exit
segment:
%s = phi i64 [0, %entry], [%s.next, %segment.end]
%s.next = add i64 %s, 1
%p = urem i64 %s, %members
%rate.p = getelementptr {kind}, ptr %rates, i64 %p
%rate = load {kind}, ptr %rate.p
%decay.p = getelementptr {kind}, ptr %decays, i64 %p
%decay = load {kind}, ptr %decay.p
%shrink = fmul {kind} %rate, %decay
%speed = fmul {kind} %rate, %by.first
%start = mul i64 %s, %inner
"""
    for name, scalar in (("vdecay", "%decay"), ("vshrink", "%shrink"), ("vspeed", "%speed"), ("vby", "%by.second")):
        head += spread(f"%{name}", scalar)
    for name, number in (("b1", 1 - BETAS[0]), ("b2", BETAS[1]), ("b3", 1 - BETAS[1]), ("eps", EPSILON)):
        head += spread(f"%{name}", constant(number))
    head += spread("%inner.v", "%inner", "i64")
    body = f"""br label %block
block:
%j = phi i64 [0, %segment], [%j.next, %block]
%j.next = add i64 %j, {lanes}
%at = add i64 %start, %j
{spread("%j.v", "%j", "i64")}%lane = add <{lanes} x i64> %j.v, <{lane_numbers}>
%mask = icmp ult <{lanes} x i64> %lane, %inner.v
{load("%x", "value")}{load("%g0", "gradient")}{load("%m0", "first")}{load("%v0", "second")}"""
    if decoupled:
        body += f"%less = fmul {vector} %x, %vshrink\n%x1 = fsub {vector} %x, %less\n"
        body += f"%g = fadd {vector} %g0, zeroinitializer\n"
    else:
        body += f"%x1 = fadd {vector} %x, zeroinitializer\n"
        body += f"%add = fmul {vector} %x, %vdecay\n%g = fadd {vector} %g0, %add\n"
    body += f"""%d = fsub {vector} %g, %m0
%db = fmul {vector} %d, %b1
%m = fadd {vector} %m0, %db
%gg = fmul {vector} %g, %g
%ggb = fmul {vector} %gg, %b3
%vb = fmul {vector} %v0, %b2
%v = fadd {vector} %vb, %ggb
%vc = fmul {vector} %v, %vby
%root = call {vector} @llvm.sqrt.{suffix}({vector} %vc)
%size = fadd {vector} %root, %eps
%ms = fmul {vector} %m, %vspeed
%move = fdiv {vector} %ms, %size
%y = fsub {vector} %x1, %move
{store("%y", "value")}{store("%m", "first")}{store("%v", "second")}%more = icmp ult i64 %j.next, %inner
br i1 %more, label %block, label %segment.end
segment.end:
%go = icmp ult i64 %s.next, %segments
br i1 %go, label %segment, label %exit
exit:
ret void
}}
"""
    return head + body
