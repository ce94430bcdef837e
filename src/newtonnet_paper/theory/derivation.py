"""The corrected statements with their derivation, in markdown, for the page about the theory."""

DERIVATION = r"""
Notation: A is the adjacency, D the degrees, E edges, N nodes in C classes of equal size, h the share of edges that
join equal classes, λ and U the frequencies and vectors of a Laplacian, x a white signal (mean 0, covariance I). Each
statement below names what it needs; the tables count how often random trials contradict it with and without.

### Lemma 1: the chance level

Edges drawn among distinct nodes join equal classes with probability (N/C − 1)/(N − 1), which is below 1/C and tends
to it as classes grow; it is 1/C for every N only where a node may be joined to itself. Classes of unequal sizes n_c
have Σ n_c (n_c − 1) / (N (N − 1)).

### Theorem 1: connected nodes

For any Laplacian L with vectors u_i, and R = D − A, so that x'Rx is the sum of (x_s − x_t)² over edges,

    E[Δs] = Σ_i (g1(λ_i)² − g2(λ_i)²) s_i,    s_i = u_i' R u_i.

Equal norms make the weights e_i = g1² − g2² sum to zero. If **|g1| < |g2|** at the m lowest frequencies and **|g1| >
|g2|** above, the first are negative and the others positive, so Σ e_i s_i ≥ (min of s above − max of s below) Σ_{i>m}
e_i: positive for every such pair of filters if and only if no frequency below the crossing is rougher than one above
it.

- For **L = D − A**, s_i = λ_i and the theorem holds. What has to cross are the magnitudes: for g1 < g2 as mere
  numbers, e_i can have any sign, and the smallest counterexample is a path of three nodes with amplitudes −1, 0 and
  1.
- For the **normalised L**, which the paper's filters use, x'Lx is the sum of (x_s/√d_s − x_t/√d_t)²: the theorem
  holds for these scaled distances, and for plain ones on regular graphs. Elsewhere s_i need not grow with λ_i;
  contradictions are rare among random filters and exist from four nodes on.
- It is a statement about the **mean over white signals**. A single signal may contradict it, and one that lives below
  the crossing always does, since g2 is larger there.

### Theorem 2: classes

The proof lets only connected pairs count and gives every edge the same share. Over all pairs of nodes there is an
exact expression. Let Y hold the class indicators minus 1/C and p_i = ‖u_i'Y‖² their energy at frequency i. A matrix B
= g1(L)² − g2(L)² has trace 0, so the expected squared distances sum to −Σ B_st over the pairs of either kind, and
with the paper's numbers of pairs

    E[Δd̄(1)] − E[Δd̄(2)] = 2C² / (N² (C − 1)) · Σ_i (g1(λ_i)² − g2(λ_i)²) p_i.

So what decides is **where in the spectrum the classes lie**, not h alone. Homophily is the first moment of that
distribution: for L = D − A

    Σ λ_i p_i / Σ p_i = mean(d) · (1 − h) / (1 − 1/C),    mean of all λ_i = mean(d),

hence **h > 1/C if and only if the classes' mean frequency is below the graph's**, which is what makes 1/C the pivot.
It follows that

- if **g1² − g2² is affine in λ**, rising, the gap has exactly the sign of 1/C − h: Theorem 2 holds. If a node's pair
  with itself is left out of the averages, the pivot is (N/C − 1)/(N − 1), the exact chance level of Lemma 1.
- on regular graphs the proof's factor 2C/((C − 1)N²) (1 − Ch) E[Δs] is then exact; on others it is too large by 1 +
  var(d)/mean(d).
- for **other filters it can fail on either side of 1/C**. The constant signal has λ = 0 and no class energy, so a g2
  whose surplus sits at λ = 0 gains nothing by it; and energy at single frequencies need not fall as λ grows. With
  g1(0) = g2(0) the low-pass g2 separates better if no frequency between 0 and the crossing has less class energy than
  one above it, and g1 if none has more.
- near 1/C the first moment says little about the rest, and there the theorem errs most; far from it random filters
  contradict it less often.

The paper concludes after the theorem that graphs with h > 1/C favour g1. By its own inequality it is g2, the filter
with more low frequency, and the shape-aware penalty is built that way round.
"""
