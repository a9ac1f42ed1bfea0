package load

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// Edits are the rules that change schemas before they are checked and compiled. A nil *Edits has no
// rules.
type Edits struct {
	Rules []refusal.Edit
	trees map[string]any // of revisions that rules copy schemas from
}

// of returns the rules for a revision, without the rules whose pointers are in done.
func (x *Edits) of(revision string, done []string) (list []refusal.Edit) {
	if x != nil {
		for _, e := range x.Rules {
			if e.In == revision && !slices.Contains(done, e.At) {
				list = append(list, e)
			}
		}
	}
	return list
}

// Pointers returns the pointers of the rules for a revision.
func (x *Edits) Pointers(revision string) (list []string) {
	for _, e := range x.of(revision, nil) {
		list = append(list, e.At)
	}
	return list
}

// useFolder reads the revisions that rules copy schemas from.
func (x *Edits) useFolder(fsys fs.FS, shown func(string) string) error {
	if x == nil {
		return nil
	}
	x.trees = make(map[string]any)
	for _, e := range x.Rules {
		if e.From == "" || x.trees[e.From] != nil {
			continue
		}
		name := Entry{Revision: e.From}.File()
		data, err := readFile(fsys, name)
		if err != nil {
			return refusedEdit(shown(name), e, "the rule copies a schema from a revision that cannot be read")
		}
		if x.trees[e.From], err = parse(shown(name), data); err != nil {
			return err
		}
	}
	return nil
}

// apply changes the tree of a revision, except for the pointers in done. It reports whether it changed anything. All pointers refer to
// the tree as it was before, so the rules do not depend on each other's order. If strict is true, a
// rule must change something.
func (x *Edits) apply(file, revision string, done []string, tree any, strict bool) (changed bool, err error) {
	var errs []error
	for _, rename := range []bool{false, true} { // renaming changes pointers
		for _, e := range x.of(revision, done) {
			if (e.Name != "") != rename {
				continue
			}
			did, err := x.applyOne(file, tree, e)
			if err == nil && strict && !did {
				err = refusedEdit(file, e, "the rule changes nothing; delete it")
			}
			changed, errs = changed || did, append(errs, err)
		}
	}
	removeHoles(tree)
	return changed, errors.Join(errs...)
}

func refusedEdit(file string, e refusal.Edit, text string) error {
	return problemf(file, e.At, "Edit rule: %s", text)
}

// hole is in the place of a removed element of an array, until all rules are applied.
type hole struct{}

func (x *Edits) applyOne(file string, tree any, e refusal.Edit) (changed bool, err error) {
	path := strings.Split(e.At, "/")
	if path[0] != "" || len(path) < 2 {
		return false, refusedEdit(file, e, "At must be a JSON pointer, such as /$defs/Tool/properties/name")
	}
	var value any = hole{}
	switch {
	case e.Name != "":
		return renameDefinition(tree, unescape.Replace(path[len(path)-1]), e.Name), nil
	case e.JSON != "":
		if value, err = parse(file, []byte(e.JSON)); err != nil {
			return false, refusedEdit(file, e, "JSON is invalid: "+err.Error())
		}
	case e.From != "":
		found := false
		if value, found = ValueAt(x.trees[e.From], path[1:]); !found {
			return false, refusedEdit(file, e, "the revision "+e.From+" has no schema at this place")
		}
		value = localRefs(value, defsKeyword(tree))
		defer copyDefinitions(tree, x.trees[e.From], value)
	}
	return set(tree, path[1:], value), nil
}

// copyDefinitions copies the definitions that a schema from another revision refers to, if the tree does
// not have them.
func copyDefinitions(tree, from any, schema any) {
	root, _ := tree.(map[string]any)
	keyword := defsKeyword(tree)
	defs, _ := root[keyword].(map[string]any)
	_, others := definitions(from)
	mapRefs(schema, func(name string) string {
		if other := others[name]; defs[name] == nil && other != nil {
			defs[name] = localRefs(other, keyword)
			copyDefinitions(tree, from, defs[name])
		}
		return name
	}, keyword)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// step returns the key of a part of a JSON pointer. The keyword of definitions depends on the file.
func step(object map[string]any, part string) string {
	key := unescape.Replace(part)
	if other := map[string]string{"$defs": "definitions", "definitions": "$defs"}[key]; other != "" && object[key] == nil && object[other] != nil {
		return other
	}
	return key
}

// ValueAt returns the value at a JSON pointer, and whether there is one.
func ValueAt(v any, path []string) (any, bool) {
	for _, part := range path {
		switch x := v.(type) {
		case map[string]any:
			inner, ok := x[step(x, part)]
			if !ok {
				return nil, false
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// set sets the value at a JSON pointer, or removes it if the value is a hole. It adds missing objects.
// It reports whether anything changed.
func set(v any, path []string, value any) bool {
	_, remove := value.(hole)
	last := len(path) == 1
	switch x := v.(type) {
	case map[string]any:
		key := step(x, path[0])
		old, have := x[key]
		switch {
		case last && remove:
			delete(x, key)
			return have
		case last:
			x[key] = value
			return !have || text(old) != text(value)
		case !have && remove:
			return false
		case !have:
			x[key] = map[string]any{}
		}
		return set(x[key], path[1:], value)
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(x) {
			return false
		}
		if last {
			old := x[i]
			x[i] = value
			return remove || text(old) != text(value)
		}
		return set(x[i], path[1:], value)
	}
	return false
}

func text(v any) string {
	if _, removed := v.(hole); removed {
		return ""
	}
	return string(format(v))
}

// removeHoles removes the elements of arrays that rules removed. An array without elements is removed,
// too.
func removeHoles(v any) {
	switch x := v.(type) {
	case map[string]any:
		for key, inner := range x {
			list, ok := inner.([]any)
			if !ok {
				removeHoles(inner)
				continue
			}
			rest := slices.DeleteFunc(list, func(v any) bool { _, removed := v.(hole); return removed })
			for _, element := range rest {
				removeHoles(element)
			}
			if x[key] = rest; len(rest) == 0 && len(list) > 0 {
				delete(x, key)
			}
		}
	case []any:
		for _, inner := range x {
			removeHoles(inner)
		}
	}
}

// defsKeyword returns the keyword of the definitions of a file.
func defsKeyword(tree any) string {
	if root, ok := tree.(map[string]any); ok && root["definitions"] != nil {
		return "definitions"
	}
	return "$defs"
}

// localRefs returns a copy of a schema whose references use the given keyword.
func localRefs(v any, keyword string) any {
	return mapRefs(v, func(name string) string { return name }, keyword)
}

// mapRefs returns a copy of a schema with other references.
func mapRefs(v any, rename func(string) string, keyword string) any {
	switch x := v.(type) {
	case map[string]any:
		c := maps.Clone(x)
		for key, inner := range x {
			c[key] = mapRefs(inner, rename, keyword)
		}
		if ref, ok := x["$ref"].(string); ok {
			if _, name, ok := strings.Cut(strings.TrimPrefix(ref, "#/"), "/"); ok {
				c["$ref"] = "#/" + keyword + "/" + rename(name)
			}
		}
		return c
	case []any:
		c := slices.Clone(x)
		for i, inner := range x {
			c[i] = mapRefs(inner, rename, keyword)
		}
		return c
	}
	return v
}

// renameDefinition renames a definition and the references to it.
func renameDefinition(tree any, old, name string) bool {
	root, _ := tree.(map[string]any)
	keyword := defsKeyword(tree)
	defs, _ := root[keyword].(map[string]any)
	if defs[old] == nil || defs[name] != nil {
		return false
	}
	defs[name] = defs[old]
	delete(defs, old)
	root[keyword] = mapRefs(defs, func(def string) string {
		if def == old {
			return name
		}
		return def
	}, keyword)
	return true
}
