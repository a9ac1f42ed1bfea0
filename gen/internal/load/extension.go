package load

import "maps"

// Tree reads a JSON document into maps, slices, strings, booleans, nils and json.Numbers. The
// file name is only used in errors.
func Tree(file string, data []byte) (any, error) { return parse(file, data) }

// WithDefinitions returns the schema of a revision with further definitions, which it checks. The
// file name is only used in errors.
func WithDefinitions(file string, f *File, defs map[string]any) (*File, error) {
	tree, err := parse(f.Name, f.Raw)
	if err != nil {
		return nil, err
	}
	_, all := definitions(tree)
	maps.Copy(all, defs)
	return Parse(file, Entry{Revision: f.Revision}, format(tree))
}

// Format encodes a schema in the layout of this repository.
func Format(tree any) []byte { return format(tree) }
