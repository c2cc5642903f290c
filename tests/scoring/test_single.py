"""Products in single precision count exactly, dense and sparse."""

import numpy as np
import scipy
from numpy.testing import assert_array_equal

from judgepanel.scoring.metrics import single_product


def test_counts_are_exact_dense_and_sparse():
    rng = np.random.default_rng(3)
    left, right = rng.random((7, 400)) < 0.4, rng.random((400, 9)) < 0.6
    exact = left.astype(int) @ right.astype(int)
    assert_array_equal(single_product(left, right), exact)
    assert_array_equal(single_product(scipy.sparse.csr_array(left), right), exact)
    both = single_product(scipy.sparse.csr_array(left), scipy.sparse.csr_array(right))
    assert both.dtype == np.float32
    assert_array_equal(both.toarray(), exact)
