"""Computations that the tests tune."""

from tilewright import auto_scheduler, te, topi

TARGET = "llvm -num-cores=1"


@auto_scheduler.register_workload
def small_matmul(n, m, k):
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return [a, b, c]


@auto_scheduler.register_workload
def small_conv2d(channels, size, stride, padding):
    data = te.placeholder((1, channels, size, size), name="data")
    kernel = te.placeholder((channels, channels, 3, 3), name="kernel")
    bias = te.placeholder((1, channels, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, stride, padding, dilation=1, out_dtype="float32")
    return [data, kernel, bias, topi.nn.relu(conv + bias)]


def matmul_task(n=32, target=TARGET, **options):
    return auto_scheduler.SearchTask(small_matmul, (n, n, n), target=target, **options)


def quick_options(log_file=None, trials=4, **given):
    """Options of a search that measures for a moment."""
    callbacks = [] if log_file is None else [auto_scheduler.RecordToFile(log_file)]
    given = {
        "builder": auto_scheduler.LocalBuilder(n_parallel=1),
        "runner": auto_scheduler.LocalRunner(number=1, min_repeat_ms=1),
        "num_measures_per_round": 2,
        **given,
    }
    return auto_scheduler.TuningOptions(trials, measure_callbacks=callbacks, **given)
