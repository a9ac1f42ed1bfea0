package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// issues collects what stands in the way, so that one run tells it all.
type issues struct{ list []string }

// add records a problem at a place.
func (p *issues) add(where, format string, args ...any) {
	p.list = append(p.list, where+": "+fmt.Sprintf(format, args...))
}

// err returns the problems as one error, in order and each once.
func (p *issues) err(stage string) error {
	slices.Sort(p.list)
	var errs []error
	for _, s := range slices.Compact(p.list) {
		errs = append(errs, errors.New(strings.TrimSpace(stage+": "+s)))
	}
	return errors.Join(errs...)
}
