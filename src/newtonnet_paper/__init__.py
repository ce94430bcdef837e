"""The laboratory: claims of the paper, what was measured of them, benchmarks, and the pages that show both."""
