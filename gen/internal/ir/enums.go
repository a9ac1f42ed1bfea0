package ir

import (
	"slices"
	"strings"
)

// settleOpen makes an enum of a string whose values only prose names.
func (m *merger) settleOpen(t *thing, o *Open) {
	t.kind = enumThing
	e := &Enum{Open: true}
	for _, v := range o.Values {
		e.Values = append(e.Values, &Value{JSON: v, In: ^Window(0)})
	}
	t.typ.Shape = e
}

func (m *merger) settleEnum(t *thing) {
	e := &Enum{}
	for _, o := range t.occs {
		for _, v := range o.node.(*enumNode).values {
			i := slices.IndexFunc(e.Values, func(have *Value) bool { return have.JSON == v })
			if i < 0 {
				i = len(e.Values)
				e.Values = append(e.Values, &Value{JSON: v})
			}
			e.Values[i].In |= 1 << o.bit
		}
	}
	slices.SortFunc(e.Values, func(a, b *Value) int { return strings.Compare(a.JSON, b.JSON) })
	for _, v := range e.Values {
		v.In = m.open(v.In, t.in())
	}
	t.typ.Shape = e
}
