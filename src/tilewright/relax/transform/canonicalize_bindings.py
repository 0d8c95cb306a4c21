"""Normal form: nested expressions are bound to variables, and aliases are removed."""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    DataflowVar,
    Function,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.normalize import is_leaf
from tilewright.relax.sizes import assume_sizes, extents_in, solve_sizes
from tilewright.relax.struct_info import TupleStructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.transform.function_pass import FunctionPass
from tilewright.relax.transform.scopes import (
    Substitution,
    sizes_by_definition,
    with_bindings,
    with_blocks,
)


class Normalize(ModulePass):
    """Bind each operation to a variable of its own, and infer all struct info.

    ::

        before:  return R.add(R.exp(x), y)      after:  lv = R.exp(x)
                                                        lv1 = R.add(lv, y)
                                                        return lv1
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        builder, is_same = BlockBuilder(mod), True
        for name, function in mod.functions.items():
            if isinstance(function, Function):
                changed = builder.normalize(function)
                if changed is not function:
                    is_same = False
                    builder.update_func(name, changed)
        return mod if is_same else builder.get()


class CanonicalizeBindings(FunctionPass):
    """Use a value itself where a binding only gives it another name.

    ::

        before:  t = (x, y)                                 after:  t = (x, y)
                 a = t[0]                                           c = R.exp(x)
                 b = R.match_cast(a, R.Tensor((n, 4)))
                 c = R.exp(b)

    That is so for variables, constants, shapes, fields of tuples whose fields are known, tuples of
    all fields of a tuple, and for a `match_cast` that always holds. A symbolic size that such a
    `match_cast` defines is replaced by the extent that it equals.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _BoundAtOnce()(_Canonicalization(func)(func))


class _Canonicalization(Substitution):
    def __init__(self, function: Function) -> None:
        analyzer = Analyzer()
        super().__init__(analyzer=analyzer)
        self._defined = sizes_by_definition(function)
        self._tuples: dict[Var, Tuple] = {}
        self._whole: dict[Var, tuple[Var, int]] = {}
        """From a variable to the tuple that it is a field of."""
        self._local: set[Var] = set()
        """Variables of the dataflow block that is being changed."""

    def RelaxFunction(self, function: Function) -> Function:
        for param in function.params:
            if param.struct_info is not None:
                assume_sizes(self._analyzer, extents_in(param.struct_info))
        return super().RelaxFunction(function)

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        changed = with_blocks(seq, list(map(self._block, seq.blocks)))
        body = self(seq.body)
        return changed if body is seq.body else changed.replace(body=body)

    def _block(self, block: BindingBlock) -> BindingBlock:
        kept = [new for old in block.bindings for new in self._binding(old)]
        self._local.clear()
        return with_bindings(block, kept)

    def _binding(self, binding: Binding) -> list[Binding]:
        if isinstance(binding, MatchCast):
            return self._match_cast(binding)
        return self._plain(self.VarBinding(binding))  # type: ignore[arg-type]

    def _match_cast(self, binding: MatchCast) -> list[Binding]:
        given = self(binding.value).struct_info
        own = self._defined.get(binding, [])
        solved = solve_sizes((binding.struct_info,), [given], self._analyzer) if own else {}
        sizes = {size: solved[size] for size in own if size in solved}
        if len(sizes) == len(own):
            asked = Substitution(None, {**self._sizes, **sizes}, self._analyzer)(
                binding.struct_info
            )
            if is_base_of(asked, given, self._analyzer):
                self._sizes.update(sizes)  # type: ignore[attr-defined]
                return self._plain(self.VarBinding(VarBinding(binding.var, binding.value)))
        assume_sizes(self._analyzer, extents_in(binding.struct_info))
        binding = self.MatchCast(binding)
        self._note_local(binding.var)
        return [binding]

    def _plain(self, binding: VarBinding) -> list[Binding]:
        """The replacement of a binding after the replacements of all before it."""
        known = self._known_as(binding.value)
        var = binding.var
        if known is None:
            self._remember(binding)
            return [binding]
        if not self._may_stand_for(known, var):
            binding = binding if known is binding.value else binding.replace(value=known)
            self._remember(binding)
            return [binding]
        self._variables[var] = known
        return []

    def _known_as(self, value: RelaxExpr) -> RelaxExpr | None:
        """The leaf that `value` is the same as."""
        if isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Var):
            fields = self._tuples.get(value.tuple_value)
            field = None if fields is None else fields.fields[value.index]
            return field if field is not None and self._is_visible(field) else None
        if isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Tuple):
            return value.tuple_value.fields[value.index]
        if isinstance(value, Tuple):
            return self._tuple_of_all_fields(value)
        return value if is_leaf(value) else None

    def _tuple_of_all_fields(self, value: Tuple) -> Var | None:
        wholes = [self._whole.get(field) for field in value.fields if isinstance(field, Var)]
        if not wholes or len(wholes) < len(value.fields) or None in wholes:
            return None
        whole = wholes[0][0]  # type: ignore[index]
        info = whole.struct_info
        in_order = wholes == [(whole, index) for index in range(len(value.fields))]
        complete = isinstance(info, TupleStructInfo) and len(info.fields) == len(value.fields)
        return whole if in_order and complete and self._is_visible(whole) else None

    def _is_visible(self, value: RelaxExpr) -> bool:
        """Whether a leaf can be used in the block that is being changed."""
        if isinstance(value, Tuple):
            return all(map(self._is_visible, value.fields))
        return not isinstance(value, DataflowVar) or value in self._local

    def _may_stand_for(self, known: RelaxExpr, var: Var) -> bool:
        """Whether `known` can be used wherever `var` is, and as much is known of it."""
        if isinstance(known, DataflowVar) and not isinstance(var, DataflowVar):
            return False
        if var.struct_info is None or known.struct_info is None:
            return False
        return is_base_of(var.struct_info, known.struct_info, self._analyzer)

    def _remember(self, binding: VarBinding) -> None:
        var, value = binding.var, binding.value
        self._note_local(var)
        if isinstance(value, Tuple):
            self._tuples[var] = value
        elif isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Var):
            self._whole[var] = (value.tuple_value, value.index)
        elif isinstance(value, Var) and value in self._tuples:
            self._tuples[var] = self._tuples[value]
        elif isinstance(value, Var) and value in self._whole:
            self._whole[var] = self._whole[value]

    def _note_local(self, var: Var) -> None:
        if isinstance(var, DataflowVar):
            self._local.add(var)


class _BoundAtOnce(Substitution):
    """Binds an output at once where it is a second name of a variable of the block."""

    def DataflowBlock(self, block: BindingBlock) -> BindingBlock:
        outputs = _outputs_that_are_names(block)
        for local, output in outputs.items():
            self._variables[local] = output
        kept: list[Binding] = []
        for binding in block.bindings:
            output = outputs.get(binding.value) if isinstance(binding.value, Var) else None
            if output is not None and _say_the_same(output, binding.var):
                if binding.var is not output:  # a third name
                    self._variables[binding.var] = output
            elif binding.var in outputs:
                kept.append(self(binding.replace(var=outputs[binding.var])))
            else:
                kept.append(self(binding))
        return with_bindings(block, kept)


def _outputs_that_are_names(block: BindingBlock) -> dict[Var, Var]:
    """For variables of a dataflow block, the first output that is bound to each, if there is one.

    As much is known of both.
    """
    outputs: dict[Var, Var] = {}
    for binding in block.bindings:
        value = binding.value
        if (
            isinstance(value, DataflowVar)
            and isinstance(binding, VarBinding)
            and not isinstance(binding.var, DataflowVar)
            and _say_the_same(value, binding.var)
        ):
            outputs.setdefault(value, binding.var)
    return outputs


def _say_the_same(a: Var, b: Var) -> bool:
    if a.struct_info is None or b.struct_info is None:
        return False
    return is_base_of(a.struct_info, b.struct_info) and is_base_of(b.struct_info, a.struct_info)
