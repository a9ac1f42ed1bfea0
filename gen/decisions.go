package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// readRules reads a file of rules, as forms print them.
func readRules(name string) ([]any, error) {
	text, err := load.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return parseRules(name, text)
}

// parseRules evaluates rules that are Go literals.
func parseRules(name string, text []byte) (rules []any, err error) {
	files := token.NewFileSet()
	list, err := parser.ParseExprFrom(files, name, "[]any{"+string(text)+"\n}", 0)
	if err != nil {
		return nil, err
	}
	literal, _ := list.(*ast.CompositeLit)
	if literal == nil {
		return nil, fmt.Errorf("%s: the file has more than rules", name)
	}
	for _, e := range literal.Elts {
		rule, at := ruleOf(e)
		if at != nil {
			return nil, fmt.Errorf("%v: this is not part of a rule", files.Position(at.Pos()))
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// ruleTypes are the rules that a form may have.
var ruleTypes = map[string]any{"Edit": ir.Edit{}, "Name": ir.Name{}, "MemberName": ir.MemberName{}, "Framing": ir.Framing{}, "Builtin": ir.Builtin{},
	"Renaming": ir.Renaming{}, "Open": ir.Open{}, "Change": ir.Change{}, "Page": ir.Page{}, "KeepRaw": ir.KeepRaw{}}

// ruleOf evaluates a rule. If an expression in it is not part of a rule, ruleOf returns it.
func ruleOf(e ast.Expr) (rule any, wrong ast.Expr) {
	if literal, ok := e.(*ast.CompositeLit); ok {
		if name, ok := literal.Type.(*ast.SelectorExpr); ok && ruleTypes[name.Sel.Name] != nil {
			v := reflect.New(reflect.TypeOf(ruleTypes[name.Sel.Name])).Elem()
			wrong := setLiteral(v, e)
			return v.Interface(), wrong
		}
	}
	return nil, e
}

// setLiteral sets v to the value of an expression. If an expression in it is no value of its type,
// setLiteral returns it.
func setLiteral(v reflect.Value, e ast.Expr) (wrong ast.Expr) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(x.Value); err == nil && v.Kind() == reflect.String {
			v.SetString(s)
			return nil
		}
	case *ast.SelectorExpr:
		if v.Type() == reflect.TypeOf(ir.Raw) && x.Sel.Name == ir.Raw.String() {
			v.Set(reflect.ValueOf(ir.Raw))
			return nil
		}
	case *ast.CompositeLit:
		return setElements(v, x)
	}
	return e
}

// setElements sets the fields or elements of v.
func setElements(v reflect.Value, x *ast.CompositeLit) (wrong ast.Expr) {
	for _, e := range x.Elts {
		to := v
		switch kv, ok := e.(*ast.KeyValueExpr); {
		case ok && v.Kind() == reflect.Struct:
			key, _ := kv.Key.(*ast.Ident)
			if key == nil || !v.FieldByName(key.Name).IsValid() {
				return kv.Key
			}
			to, e = v.FieldByName(key.Name), kv.Value
		case !ok && v.Kind() == reflect.Slice:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			to = v.Index(v.Len() - 1)
		default:
			return e
		}
		if wrong := setLiteral(to, e); wrong != nil {
			return wrong
		}
	}
	return nil
}
