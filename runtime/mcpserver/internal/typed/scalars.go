package typed

import (
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/wire"
)

// settles tells whether a plan can judge a value of one type, or null, by the
// schema. What it has to say about values of other types does not matter then.
func (s *schema) settles(name string) bool {
	return s.only(name) && !s.beyond && (s.enum == nil || name == "string" && !s.nullable)
}

// scalar reads a value of one type, or null where the schema lets it be.
func (p *planner) scalar(s *schema, name string, read reader) reader {
	if s != nil && !s.settles(name) {
		s = p.leave()
	}
	return maybeNull(s, read)
}

// maybeNull reads null as the zero value, where the schema lets it be.
func maybeNull(s *schema, read reader) reader {
	if s != nil && !s.nullable {
		return read
	}
	return func(d *wire.Decoder, v reflect.Value) {
		if d.Null() {
			v.SetZero()
			return
		}
		read(d, v)
	}
}

func readBool(d *wire.Decoder, v reflect.Value)   { v.SetBool(d.Bool()) }
func readString(d *wire.Decoder, v reflect.Value) { v.SetString(d.String()) }

func (p *planner) text(s *schema) reader {
	if s == nil || s.enum == nil && s.minLength == nil && s.maxLength == nil {
		return p.scalar(s, "string", readString)
	}
	least, most := bounds(s.minLength, s.maxLength)
	return p.scalar(s, "string", func(d *wire.Decoder, v reflect.Value) {
		text := d.String()
		switch n := utf8.RuneCountInString(text); {
		case d.Err() != nil:
		case s.enum != nil && !slices.Contains(s.enum, text):
			d.Fail("want one of %q", s.enum)
		case n < least || n > most:
			d.Fail("want %d to %d characters", least, most)
		default:
			v.SetString(text)
		}
	})
}

// bounds are those of a length.
func bounds(least, most *int) (int, int) {
	from, to := 0, math.MaxInt
	if least != nil {
		from = *least
	}
	if most != nil {
		to = *most
	}
	return from, to
}

func (p *planner) integer(t reflect.Type, s *schema) reader {
	bits := t.Bits()
	least, most := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
	if s != nil {
		least, most = narrow(s, least, most)
	}
	return p.scalar(s, "integer", func(d *wire.Decoder, v reflect.Value) { v.SetInt(d.Int(least, most)) })
}

// narrow makes the bounds of a schema those of a range of integers.
func narrow(s *schema, least, most int64) (int64, int64) {
	if s.minimum != nil {
		least = max(least, whole(s.minimum, true))
	}
	if s.maximum != nil {
		most = min(most, whole(s.maximum, false))
	}
	return least, most
}

// whole is the nearest integer on one side of a number.
func whole(r *big.Rat, up bool) int64 {
	n := new(big.Int).Div(r.Num(), r.Denom()) // rounds down
	if up && !r.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return n.Int64()
}

func (p *planner) unsigned(t reflect.Type, s *schema) reader {
	if t.Bits() == 64 {
		return p.scalar(p.unlessBounded(s), "integer", readUnsigned)
	}
	least, most := int64(0), int64(1)<<t.Bits()-1
	if s != nil {
		least, most = narrow(s, least, most)
	}
	return p.scalar(s, "integer", func(d *wire.Decoder, v reflect.Value) { v.SetUint(uint64(d.Int(least, most))) })
}

// unlessBounded leaves to others a schema whose bounds are not those of the type.
func (p *planner) unlessBounded(s *schema) *schema {
	if s != nil && (s.maximum != nil || s.minimum != nil && s.minimum.Sign() != 0) {
		return p.leave()
	}
	return s
}

// readUnsigned reads an integer of 64 bits without a sign.
func readUnsigned(d *wire.Decoder, v reflect.Value) {
	raw := d.Raw()
	if d.Err() != nil {
		return
	}
	if n, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		v.SetUint(n)
		return
	}
	if validate.NumberWithinLimits(string(raw)) {
		if r, ok := new(big.Rat).SetString(string(raw)); ok && r.IsInt() && r.Num().IsUint64() {
			v.SetUint(r.Num().Uint64())
			return
		}
	}
	d.Fail("want an integer from 0 to %d", uint64(math.MaxUint64))
}

func (p *planner) number(t reflect.Type, s *schema) reader {
	least, most := math.Inf(-1), math.Inf(1)
	if s != nil && s.minimum != nil {
		least, _ = s.minimum.Float64()
	}
	if s != nil && s.maximum != nil {
		most, _ = s.maximum.Float64()
	}
	return p.scalar(s, "number", func(d *wire.Decoder, v reflect.Value) {
		n := d.Number(least, most)
		if v.SetFloat(n); math.IsInf(v.Float(), 0) {
			d.Fail("%g does not fit a %s", n, t)
		}
	})
}
