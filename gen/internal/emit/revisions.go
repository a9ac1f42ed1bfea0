package emit

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// windowNames returns the names of all windows in the package.
func windowNames(p *ir.Package) map[ir.Window]string {
	names := make(map[ir.Window]string)
	put := func(list ...ir.Window) {
		for _, w := range list {
			if w != 0 && w != ^ir.Window(0) {
				names[w] = windowName(p, w)
			}
		}
	}
	for _, t := range p.Types {
		put(t.In)
		switch x := t.Shape.(type) {
		case *ir.Struct:
			put(x.ParamsRequired, x.InputRequired)
			for _, v := range x.Checks {
				put(v.In)
			}
			for _, c := range x.Consts {
				putConst(c, put)
			}
			for _, f := range x.Fields {
				put(f.In, f.Required, f.Required&x.ParamsRequired, f.Nulls, f.Integers, f.Zeros, f.Strict)
				putExpr(f.Type, put)
				for _, v := range slices.Concat(f.Extra, f.Checks) {
					put(v.In)
				}
			}
		case *ir.Union:
			putUnion(x, put)
		case *ir.Enum:
			put(x.Closed)
			for _, v := range x.Values {
				put(v.In)
			}
		}
	}
	for _, m := range p.Methods {
		put(m.FromClient, m.FromServer, m.Embedded, m.MultiRound, m.Cacheable)
	}
	for _, e := range p.Errors {
		put(e.In)
		for _, o := range e.Others {
			put(o.In)
		}
	}
	for _, f := range p.Forms {
		put(f.In)
	}
	return names
}

// putUnion calls put with the windows of a union.
func putUnion(u *ir.Union, put func(...ir.Window)) {
	for _, m := range u.Members {
		put(m.In)
	}
	put(u.Objects)
	for _, sel := range u.Selectors() {
		put(sel.Optional)
		if len(u.Newer) > 0 {
			put(sel.In)
		}
		for _, test := range sel.Tests {
			put(test.In)
		}
	}
}

// putConst calls put with the windows of a constant.
func putConst(c *ir.Const, put func(...ir.Window)) {
	put(c.In, c.Required, ^c.Open)
	for _, v := range c.Unset {
		put(v.In)
	}
	for _, v := range c.Values {
		put(v.In)
	}
}

func putExpr(e ir.Expr, put func(...ir.Window)) {
	switch x := e.(type) {
	case ir.Scalar:
		put(x.Bounds, x.Lists, x.Objects, x.Any)
	case ir.List:
		put(x.MaxIn)
		putExpr(x.Elem, put)
	case ir.Map:
		putExpr(x.Elem, put)
	case ir.OneOrMany:
		put(x.Many)
	}
}

// windowName returns a name with the revisions of a window.
func windowName(p *ir.Package, w ir.Window) string {
	n := len(p.Revisions)
	date := func(bit int) string { return compact(p.Revisions[bit].Name) }
	known := w & (1<<n - 1)
	first, last := bits.TrailingZeros64(uint64(known)), bits.Len64(uint64(known))-1
	switch solid := known>>first == 1<<(last-first+1)-1; {
	case solid && w != known:
		return "since" + date(first)
	case solid && first == last:
		return "only" + date(first)
	case solid && first == 0:
		return "until" + date(last)
	case solid:
		return "from" + date(first) + "to" + date(last)
	}
	if missing := ^w & (1<<n - 1); w != known && bits.OnesCount64(uint64(missing)) == 1 {
		return "except" + date(bits.TrailingZeros64(uint64(missing)))
	}
	var parts []string
	for bit := range n {
		if w.Has(bit) {
			parts = append(parts, date(bit))
		}
	}
	name := "in" + strings.Join(parts, "and")
	if w != known {
		name += "andLater"
	}
	return name
}

// compact returns a date as it is in Go names.
func compact(revision string) string { return strings.ReplaceAll(revision, "-", "") }

// revisions prints the revisions and the windows.
func (g *generator) revisions(f *jen.File) {
	newest := g.pkg.Revisions[len(g.pkg.Revisions)-1]
	f.Add(comment("Revision", "is a dated revision of the protocol, such as [Revision"+compact(newest.Name)+"]. "+
		"Revisions are comparable. String returns the date, and [ParseRevision] returns the revision with a given date. "+
		"The zero Revision is not a revision of the protocol: it stands for the form that encoding/json reads and writes.", ""))
	f.Type().Id("Revision").Op("=").Qual(wirePkg, "Revision")
	f.Line()
	f.Comment("The revisions of the protocol, oldest first.")
	f.Var().DefsFunc(func(d *jen.Group) {
		for i, r := range g.pkg.Revisions {
			name := "Revision" + compact(r.Name)
			d.Comment(fmt.Sprintf("%s is the revision %s.", name, r.Name))
			d.Id(name).Op("=").Qual(wirePkg, "NewRevision").Call(jen.Lit(i), jen.Lit(r.Name))
		}
	})
	f.Line()
	f.Comment("Revisions lists all revisions, oldest first, with their properties.")
	f.Var().Id("Revisions").Op("=").Index().Qual(peerPkg, "RevisionInfo").ValuesFunc(func(v *jen.Group) {
		for _, r := range g.pkg.Revisions {
			v.Line().Values(jen.Dict{jen.Id("Revision"): jen.Id("Revision" + compact(r.Name)), jen.Id("Handshake"): jen.Lit(r.Handshake)})
		}
		v.Line()
	})
	f.Line()
	g.latest(f)
	g.parseRevision(f)
	g.windowConsts(f)
}

// latest prints:
//
//	var LatestRevision = Revision20260728
func (g *generator) latest(f *jen.File) {
	newest := g.pkg.Revisions[len(g.pkg.Revisions)-1]
	f.Comment("LatestRevision is the newest revision.")
	f.Var().Id("LatestRevision").Op("=").Id("Revision" + compact(newest.Name))
	f.Line()
	for _, r := range slices.Backward(g.pkg.Revisions) {
		if r.Handshake {
			f.Add(comment("LatestHandshakeRevision", "is the newest revision whose sessions begin with an initialize request.", ""))
			f.Var().Id("LatestHandshakeRevision").Op("=").Id("Revision" + compact(r.Name))
			f.Line()
			return
		}
	}
}

func (g *generator) parseRevision(f *jen.File) {
	f.Add(comment("ParseRevision", "returns the revision with the given name, a date such as "+g.pkg.Revisions[len(g.pkg.Revisions)-1].Name+", and reports whether it exists.", ""))
	f.Func().Id("ParseRevision").Params(jen.Id("name").String()).Params(jen.Id("Revision"), jen.Bool()).Block(
		jen.Switch(jen.Id("name")).BlockFunc(func(cases *jen.Group) {
			for _, r := range g.pkg.Revisions {
				cases.Case(jen.Lit(r.Name)).Block(jen.Return(jen.Id("Revision"+compact(r.Name)), jen.True()))
			}
		}),
		jen.Return(jen.Id("Revision").Values(), jen.False()),
	)
	f.Line()
}

// windowConsts prints:
//
//	since20250618 = wire.Always &^ (1<<2 - 1)
func (g *generator) windowConsts(f *jen.File) {
	f.Comment("The revisions that have certain members, values and messages.")
	f.Const().DefsFunc(func(d *jen.Group) {
		n := len(g.pkg.Revisions)
		for _, w := range slices.Sorted(maps.Keys(g.windows)) {
			known := w & (1<<n - 1)
			first := bits.TrailingZeros64(uint64(known))
			name := g.windows[w]
			switch {
			case strings.HasPrefix(name, "since"):
				d.Id(name).Op("=").Qual(wirePkg, "Always").Op("&^").Parens(jen.Lit(1).Op("<<").Lit(first).Op("-").Lit(1))
			case strings.HasPrefix(name, "except"):
				d.Id(name).Op("=").Qual(wirePkg, "Always").Op("&^").Parens(jen.Lit(1).Op("<<").Lit(bits.TrailingZeros64(uint64(^w))))
			case w != known:
				d.Id(name).Qual(wirePkg, "Window").Op("=").Id(fmt.Sprintf("%#b", uint64(known))).Op("|").Qual(wirePkg, "Always").Op("&^").Parens(jen.Lit(1).Op("<<").Lit(n).Op("-").Lit(1))
			default:
				d.Id(name).Qual(wirePkg, "Window").Op("=").Id(fmt.Sprintf("%#b", uint64(known)))
			}
		}
	})
}
