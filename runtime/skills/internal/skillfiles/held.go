package skillfiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/mcpwright/mcp/generated/skills"
)

// Dynamic is the value of an entry's resources if the files of the skill have no stable digests.
const Dynamic = `"dynamic"`

// Held is a valid entry, with which files are compared. It is immutable.
type Held struct {
	Root Root
	// Dynamic reports whether the entry has no list of files.
	Dynamic bool

	files map[string]skills.SkillResource // by path
}

// Hold checks an entry. It does not check whether a host supports its size.
func Hold(e *skills.Skill) (*Held, error) {
	if err := CheckFrontmatter(&e.Frontmatter); err != nil {
		return nil, err
	}
	root, err := ParseRoot(e.URI, e.Frontmatter.Name)
	if err != nil {
		return nil, err
	}
	h := &Held{Root: root, Dynamic: string(bytes.TrimSpace(e.Resources)) == Dynamic}
	if h.Dynamic {
		return h, nil
	}
	list, err := resources(e)
	if err != nil {
		return nil, err
	}
	uris := make([]string, len(list))
	for i, r := range list {
		uris[i] = r.URI
	}
	paths, err := root.Files(uris)
	if err != nil {
		return nil, err
	}
	if paths[Manifest] != e.URI {
		return nil, fmt.Errorf("the list of files lacks %q", Manifest)
	}
	h.files = make(map[string]skills.SkillResource, len(list))
	byURI := make(map[string]skills.SkillResource, len(list))
	for _, r := range list {
		byURI[r.URI] = r
	}
	for p, uri := range paths {
		h.files[p] = byURI[uri]
	}
	return h, nil
}

// resources returns the list of files of an entry.
func resources(e *skills.Skill) ([]skills.SkillResource, error) {
	if raw := bytes.TrimSpace(e.Resources); len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New(`resources are neither a list of files nor "dynamic"`)
	}
	var values []json.RawMessage
	if err := json.Unmarshal(e.Resources, &values); err != nil {
		return nil, fmt.Errorf("decode resources: %w", err)
	}
	list := make([]skills.SkillResource, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v, &list[i]); err != nil {
			return nil, fmt.Errorf("decode resources: file %d, %q: %w", i+1, clip(list[i].URI), err)
		}
	}
	return list, nil
}

// CheckLimits returns an error if the entry exceeds the limits that all hosts support.
func (h *Held) CheckLimits() error {
	var size int64
	for _, f := range h.files {
		if size += min(f.Size, MaxBytes+1); size > MaxBytes {
			return fmt.Errorf("its files have more than %d bytes", MaxBytes)
		}
	}
	if n := len(h.files); n > MaxFiles {
		return fmt.Errorf("it has %d files, more than %d", n, MaxFiles)
	}
	return nil
}

// File returns the entry of a path, and reports whether there is one.
func (h *Held) File(p string) (skills.SkillResource, bool) {
	f, ok := h.files[p]
	return f, ok
}

// Paths returns the paths of the files, sorted.
func (h *Held) Paths() []string {
	paths := slices.Collect(maps.Keys(h.files))
	sort.Strings(paths)
	return paths
}
