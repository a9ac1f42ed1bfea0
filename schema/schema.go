// Package schema holds the protocol's JSON schemas, one per revision, as this
// module is generated from them. They carry the protocol's facts without the
// official prose, and serve to judge wire messages in tests:
//
//	for _, r := range schema.Revisions() {
//		text, err := schema.Bytes(r.Revision)
//		if err != nil {
//			return err
//		}
//		fmt.Println(r.Revision, len(text), "bytes")
//	}
package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// FS holds <revision>.json for every revision, and index.json.
//
//go:embed *.json
var FS embed.FS

// A Revision is one entry of index.json.
type Revision struct {
	// Revision is the protocol revision, a date like 2026-07-28.
	Revision string `json:"revision"`
	// OfficialSHA256 is the hash of the official file it was taken from.
	OfficialSHA256 string `json:"official_sha256"`
	// SHA256 is the hash of the file kept here.
	SHA256 string `json:"sha256"`
	// Commit is the specification commit, empty where it is not known.
	Commit string `json:"commit,omitempty"`
}

var revisions = sync.OnceValue(func() []Revision {
	data, err := FS.ReadFile("index.json")
	var index struct {
		Revisions []Revision `json:"revisions"`
	}
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	if err != nil {
		panic("schema: the embedded index.json is damaged: " + err.Error())
	}
	return index.Revisions
})

// Revisions lists the revisions, oldest first. The slice is the caller's own.
func Revisions() []Revision { return slices.Clone(revisions()) }

// Bytes is the schema of one revision. The slice is the caller's own.
func Bytes(revision string) ([]byte, error) {
	known := func(r Revision) bool { return r.Revision == revision }
	if !slices.ContainsFunc(revisions(), known) {
		return nil, fmt.Errorf("schema: no revision %q", revision)
	}
	return FS.ReadFile(revision + ".json")
}
