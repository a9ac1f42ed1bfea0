package ir

// Words splits a name into its words.
func Words(name string) []string { return words(name) }
