package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"unicode"
)

// metaphors are words that do not belong into the names of files and types. A name is built from the
// words of the protocol, or from the usual words of programs.
var metaphors = map[string]bool{
	"book": true, "bridge": true, "carriage": true, "door": true, "era": true, "eras": true, "front": true, "house": true, "judge": true,
	"ladder": true, "landing": true, "lane": true, "lender": true, "letter": true, "live": true, "mailbox": true, "parcel": true,
	"passage": true, "pulse": true, "room": true, "shelf": true, "verdict": true, "witness": true,
}

// metaphorsIn returns the names in a Go file that contain a metaphor: the name of the file and the names
// of its types. The name of its package is the folder's.
func metaphorsIn(name string, source []byte) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	names := []string{strings.TrimSuffix(filepath.Base(name), ".go")}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, s := range d.Specs {
				names = append(names, s.(*ast.TypeSpec).Name.Name)
			}
		}
	}
	for _, n := range names {
		for _, word := range split(n) {
			if metaphors[word] {
				list = append(list, n)
				break
			}
		}
	}
	return list, nil
}

// split returns the words of a name in lower case: "OldJudge_test" has "old", "judge" and "test".
func split(name string) (list []string) {
	begin := 0
	end := func(i int) {
		if begin < i {
			list = append(list, strings.ToLower(name[begin:i]))
		}
	}
	for i, r := range name {
		switch {
		case r == '_' || r == '.':
			end(i)
			begin = i + 1
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(name[i-1])):
			end(i)
			begin = i
		}
	}
	end(len(name))
	return list
}
