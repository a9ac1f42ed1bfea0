package connection

import (
	"fmt"
	"regexp"
)

var extensionName = func() *regexp.Regexp {
	const label = `[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?`
	return regexp.MustCompile(`^` + label + `(?:\.` + label + `)*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
}()

// CheckExtensions judges the identifiers of the extensions that an end declares:
// each has a prefix, such as "com.example/".
func CheckExtensions[T any](extensions map[string]T) error {
	for name := range extensions {
		if !extensionName.MatchString(name) {
			return fmt.Errorf("extension %q: want an identifier with a prefix, such as %q", name, "com.example/name")
		}
	}
	return nil
}
