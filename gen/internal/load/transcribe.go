package load

// Transcribe turns an official schema file into the form kept in this
// repository: every definition, member, bound and union, but no prose, in one
// fixed layout. The file name is for errors only. Transcribing a transcription
// changes nothing.
func Transcribe(file string, official []byte) ([]byte, error) {
	tree, err := parse(file, official)
	if err != nil {
		return nil, err
	}
	if err := check(file, tree, true); err != nil {
		return nil, err
	}
	walk("", tree, func(_ string, v any) {
		if object, ok := v.(map[string]any); ok {
			delete(object, "description")
		}
	})
	return format(tree), nil
}
