package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// A paragraph is a piece of text in a file: a paragraph of a comment or a page, or a message.
type paragraph struct {
	text string
	// starts has the position in text at which each line of the file begins, and first is the
	// number of the first line.
	starts []int
	first  int
}

// line returns the number of the line that a position in the text is on.
func (p *paragraph) line(position int) int {
	n := 0
	for n+1 < len(p.starts) && p.starts[n+1] <= position {
		n++
	}
	return p.first + n
}

// paragraphOf joins lines with spaces, so that a phrase is found if it is broken over two lines.
func paragraphOf(first int, lines ...string) paragraph {
	p := paragraph{first: first}
	var b strings.Builder
	for _, line := range lines {
		p.starts = append(p.starts, b.Len())
		b.WriteString(strings.TrimSpace(line) + " ")
	}
	p.text = b.String()
	return p
}

// goParagraphs returns the comments and the messages of a Go file. It returns nothing for
// generated files, which are checked at their source.
func goParagraphs(name string, source []byte) ([]paragraph, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	var list []paragraph
	for _, group := range f.Comments {
		list = append(list, commentParagraphs(fset, group)...)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && messages[called(call.Fun)] {
			for _, arg := range call.Args {
				list = append(list, literals(fset, arg)...)
			}
		}
		return true
	})
	return list, nil
}

// messages are the functions whose string arguments people read.
var messages = map[string]bool{
	"New": true, "Errorf": true, "Error": true, "Warn": true, "Info": true, "Debug": true, "panic": true,
	"Log": true, "Logf": true, "Fatal": true, "Fatalf": true, "Skip": true, "Skipf": true, "Printf": true, "Println": true,
}

// called returns the last name of the function that is called.
func called(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// commentParagraphs splits a group of comments into paragraphs, without code and directives.
func commentParagraphs(fset *token.FileSet, group *ast.CommentGroup) []paragraph {
	var (
		list  []paragraph
		lines []string
	)
	first := fset.Position(group.Pos()).Line
	next := first
	end := func() {
		if len(lines) > 0 {
			list = append(list, paragraphOf(first, lines...))
		}
		lines = nil
	}
	for _, c := range group.List {
		next = fset.Position(c.Pos()).Line
		for text := range strings.Lines(c.Text) {
			text, directive := commentLine(strings.TrimRight(text, "\n"))
			if directive || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "\t") {
				end()
			} else {
				if lines == nil {
					first = next
				}
				lines = append(lines, text)
			}
			next++
		}
	}
	end()
	return list
}

// commentLine removes the marks of a comment, and reports whether the line is a directive.
func commentLine(text string) (plain string, directive bool) {
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		return strings.TrimPrefix(rest, " "), rest != "" && rest[0] >= 'a' && rest[0] <= 'z'
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"), false
}

// literals returns the string literals of an expression, without those of calls inside of it.
func literals(fset *token.FileSet, e ast.Expr) (list []paragraph) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.FuncLit, *ast.CompositeLit:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				list = append(list, paragraphOf(fset.Position(n.Pos()).Line, text))
			}
		}
		return true
	})
	return list
}

var code = regexp.MustCompile("`[^`]*`")

// pageParagraphs returns the paragraphs of a Markdown page, or of another plain text, without
// blocks of code. A row of a table is a paragraph.
func pageParagraphs(text string) (list []paragraph) {
	var lines []string
	fenced, first, n := false, 1, 0
	end := func() {
		if len(lines) > 0 {
			list = append(list, paragraphOf(first, lines...))
		}
		lines = nil
	}
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			end()
			continue
		}
		if fenced || strings.TrimSpace(line) == "" {
			end()
			continue
		}
		if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") || strings.HasPrefix(strings.TrimSpace(line), "- ") {
			end()
		}
		if lines == nil {
			first = n
		}
		lines = append(lines, code.ReplaceAllString(line, "x"))
	}
	end()
	return list
}
