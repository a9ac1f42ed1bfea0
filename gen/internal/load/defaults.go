package load

// RefDefaults returns the places of references in a file that have a default. The default is not part
// of a transcription, and the definition that a reference refers to has none.
func RefDefaults(file string, data []byte) (places []string, err error) {
	tree, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	walk("", tree, func(at string, v any) {
		if x, ok := v.(map[string]any); ok && x["$ref"] != nil {
			if _, ok := x["default"]; ok {
				places = append(places, at)
			}
		}
	})
	return places, nil
}
