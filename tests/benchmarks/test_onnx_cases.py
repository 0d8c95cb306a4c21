"""Test cases of operators that the package onnx generates, some of each family."""

import pytest

pytest.importorskip("onnx")

from benchmarks.onnx_cases.cases import Status, collect, run
from benchmarks.onnx_cases.command import run_all, table

PASSING = {
    "add": ("test_add_bcast",),
    "div": ("test_div_int8",),
    "bitshift": ("test_bitshift_right_int8_shift_ge_width",),
    "clip": ("test_clip_default_inbounds_expanded",),
    "hardmax": ("test_hardmax_axis_0",),
    "reduce_log_sum_exp": ("test_reduce_log_sum_exp_default_axes_keepdims_random_expanded",),
    "cumsum": ("test_cumsum_1d_reverse_exclusive",),
    "topk": ("test_top_k_smallest",),
    "reshape": ("test_reshape_zero_and_negative_dim",),
    "slice": ("test_slice_negative_axes",),
    "pad": ("test_wrap_pad",),
    "depthtospace": ("test_depthtospace_crd_mode_example",),
    "gathernd": ("test_gathernd_example_int32_batch_dim1",),
    "onehot": ("test_onehot_with_negative_axis",),
    "scatternd": ("test_scatternd_add",),
    "unique": ("test_unique_not_sorted_without_axis",),
    "gemm": ("test_gemm_all_attributes",),
    "convtranspose": ("test_convtranspose_output_shape",),
    "det": ("test_det_nd",),
    "col2im": ("test_col2im_dilations",),
    "maxpool": ("test_maxpool_with_argmax_2d_precomputed_strides",),
    "lppool": ("test_lppool_2d_same_lower",),
    "batch_normalization": ("test_batchnorm_example_training_mode",),
    "lrn": ("test_lrn",),
    "resize": (
        "test_resize_downsample_scales_cubic_antialias",
        "test_resize_tf_crop_and_resize",
    ),
    "gridsample": ("test_gridsample_bicubic_align_corners_1_additional_1",),
    "roialign": ("test_roialign_aligned_false",),
    "nonmaxsuppression": ("test_nonmaxsuppression_two_batches",),
    "quantizelinear": ("test_quantizelinear_blocked_asymmetric",),
    "qlinearconv": ("test_qlinearconv",),
    "dynamicquantizelinear": ("test_dynamicquantizelinear",),
    "lstm": ("test_lstm_with_peepholes",),
    "gru": ("test_gru_seq_length",),
    "if_": ("test_if",),
    "scan": ("test_scan9_sum",),
    "dft": ("test_dft_axis",),
    "stft": ("test_stft_with_window",),
    "rotaryembedding": ("test_rotary_embedding_3d_input",),
    "cast": ("test_cast_FLOAT_to_INT4",),
    "bitcast": ("test_bitcast_bool_to_uint8",),
    "ai_onnx_ml.array_feature_extractor": ("test_ai_onnx_ml_array_feature_extractor",),
    "ai_onnx_ml.binarizer": ("test_ai_onnx_ml_binarizer",),
}
"""By the module that has them: others, which make cases in which Python computes for long, are not
imported."""


@pytest.fixture(scope="module")
def cases():
    """The cases of some modules by name; of two with a name, the first."""
    return {case.name: case for case in reversed(collect(["abs", *PASSING]))}


@pytest.fixture(scope="module")
def outcomes(cases):
    """What became of those that should pass."""
    return run_all([cases[name] for names in PASSING.values() for name in names], jobs=1)


def test_the_cases_pass(outcomes):
    passed = (Status.PASSED, Status.PASSED_WITH_CONSTANTS)
    failed = {name: outcome for name, outcome in outcomes.items() if outcome.status not in passed}
    assert failed == {}


def test_a_wrong_result_is_told(cases):
    case = cases["test_abs"]
    ((inputs, outputs),) = case.data
    outcome = run(case._replace(data=[(inputs, [outputs[0] + 1])]))
    assert outcome.status is Status.WRONG
    assert "differs by 1" in outcome.reason


def test_the_table(cases, outcomes):
    text = table([cases["test_add_bcast"]], outcomes)
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [["Add", "1"], ["all", "1"]]
