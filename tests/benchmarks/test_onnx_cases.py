"""Test cases of operators that the package onnx generates, some of each family."""

import pytest

pytest.importorskip("onnx")

from benchmarks.onnx_cases.cases import Status, collect, run
from benchmarks.onnx_cases.command import run_all, table

PASSING = (
    "test_add_bcast",
    "test_div_int8",
    "test_bitshift_right_int8_shift_ge_width",
    "test_clip_default_inbounds_expanded",
    "test_hardmax_axis_0",
    "test_reduce_log_sum_exp_default_axes_keepdims_random_expanded",
    "test_cumsum_1d_reverse_exclusive",
    "test_top_k_smallest",
    "test_reshape_zero_and_negative_dim",
    "test_slice_negative_axes",
    "test_wrap_pad",
    "test_depthtospace_crd_mode_example",
    "test_gathernd_example_int32_batch_dim1",
    "test_onehot_with_negative_axis",
    "test_scatternd_add",
    "test_unique_not_sorted_without_axis",
    "test_gemm_all_attributes",
    "test_convtranspose_output_shape",
    "test_det_nd",
    "test_col2im_dilations",
    "test_maxpool_with_argmax_2d_precomputed_strides",
    "test_lppool_2d_same_lower",
    "test_batchnorm_example_training_mode",
    "test_lrn",
    "test_resize_downsample_scales_cubic_antialias",
    "test_resize_tf_crop_and_resize",
    "test_gridsample_bicubic_align_corners_1_additional_1",
    "test_roialign_aligned_false",
    "test_nonmaxsuppression_two_batches",
    "test_quantizelinear_blocked_asymmetric",
    "test_qlinearconv",
    "test_dynamicquantizelinear",
    "test_lstm_with_peepholes",
    "test_gru_seq_length",
    "test_if",
    "test_scan9_sum",
    "test_dft_axis",
    "test_stft_with_window",
    "test_rotary_embedding_3d_input",
    "test_cast_FLOAT_to_INT4",
    "test_bitcast_bool_to_uint8",
    "test_ai_onnx_ml_array_feature_extractor",
    "test_ai_onnx_ml_binarizer",
)


@pytest.fixture(scope="module")
def cases():
    """All cases by name; of two with a name, the first."""
    return {case.name: case for case in reversed(collect())}


@pytest.fixture(scope="module")
def outcomes(cases):
    """What became of those that should pass."""
    return run_all([cases[name] for name in PASSING], jobs=1)


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
