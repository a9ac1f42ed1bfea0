package emit

import (
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"regexp"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// values prints the small functions with which codecs write and read elements
// that are no types of their own.
func (g *generator) values(f *jen.File) {
	element := func(name string, typ *jen.Statement, body jen.Code) {
		f.Func().Id(name).Params(append(encoderParams(), jen.Id("v").Add(typ))...).Index().Byte().Block(body)
		f.Line()
	}
	element("appendString", jen.String(), jen.Return(jen.Qual(wirePkg, "AppendString").Call(jen.Id("b"), jen.Id("v"))))
	element("appendRaw", jen.Qual("encoding/json", "RawMessage"), jen.Return(jen.Id("e").Dot("Raw").Call(jen.Id("b"), jen.Id("v"), jen.Lit("null"))))
	element("appendObject", rawMap(), jen.Return(jen.Qual(wirePkg, "AppendMap").Call(jen.Id("b"), jen.Id("e"), jen.Id("v"), jen.Id("appendRaw"))))
	f.Func().Id("decodeObject").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Add(rawMap()).Block(
		jen.Return(g.decodeScalar(ir.Scalar{Kind: ir.Object})))
	f.Line()
	for _, k := range g.nullables() {
		value := jen.Op("*").Id("v")
		element("append"+nullableName(k), jen.Op("*").Add(scalarType(k)), jen.Null().Add(
			jen.If(jen.Id("v").Op("==").Nil()).Block(jen.Return(jen.Append(jen.Id("b"), jen.Lit("null").Op("...")))).Line(),
			jen.Return(g.appendScalar(ir.Scalar{Kind: k}, value))))
	}
}

// nullables lists the kinds of values that may be null somewhere.
func (g *generator) nullables() []ir.Kind {
	var list []ir.Kind
	for k := ir.String; k <= ir.Float; k++ {
		if g.anyField(func(f *ir.Field) bool { s, ok := f.Type.(ir.Scalar); return ok && f.Nullable && s.Kind == k }) {
			list = append(list, k)
		}
	}
	return list
}

func (g *generator) anyField(is func(*ir.Field) bool) bool {
	for _, t := range g.pkg.Types {
		if s, ok := t.Shape.(*ir.Struct); ok {
			for _, f := range s.Fields {
				if is(f) {
					return true
				}
			}
		}
	}
	return false
}

// static holds what is the same whatever the schemas say: helpers written out
// as Go. The first line of a file names the types it needs; it is printed where
// they exist. What all other files stand on is always printed, and has to have
// the types.
//
//go:embed static/*.go.txt
var static embed.FS

// written tells whether a file is one of those written out.
func written(name string) bool {
	_, err := fs.Stat(static, "static/"+name+".txt")
	return err == nil
}

var needs = regexp.MustCompile(`^// (needs|has to have):(.*)\n`)

// addStatic adds the written-out files.
func (g *generator) addStatic(out map[string][]byte) error {
	return fs.WalkDir(static, "static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := static.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(d.Name(), ".txt")
		head := needs.FindSubmatch(src)
		if head == nil {
			return fmt.Errorf("%s: the first line says no needs", path)
		}
		for _, typ := range strings.Fields(string(head[2])) {
			switch {
			case g.find(typ) != nil:
			case string(head[1]) == "needs":
				return nil
			default:
				return fmt.Errorf("print %s: no schema defines %q", name, typ)
			}
		}
		body, err := format.Source(src[len(head[0]):])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out[name] = append([]byte(g.header()), body...)
		return nil
	})
}
