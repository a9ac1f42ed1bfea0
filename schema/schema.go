// Package schema contains the protocol's JSON schemas, one for each revision. The
// package generated/mcp is generated from them. They have the constraints of the
// official schemas without their texts. Tests can validate wire messages with them:
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

// FS contains <revision>.json for every revision, and index.json.
//
//go:embed *.json
var FS embed.FS

// A Revision describes the schema of a revision. It is an entry of index.json.
type Revision struct {
	// Revision is the name of the protocol revision, a date such as 2026-07-28.
	Revision string `json:"revision"`
	// OfficialSHA256 is the hash of the official file that the schema was made from.
	OfficialSHA256 string `json:"official_sha256"`
	// SHA256 is the hash of the file in FS.
	SHA256 string `json:"sha256"`
	// Commit is the commit of the specification, or empty if unknown.
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
		panic("schema: invalid embedded index.json: " + err.Error())
	}
	return index.Revisions
})

// Revisions returns the revisions, oldest first. The caller owns the slice.
func Revisions() []Revision { return slices.Clone(revisions()) }

// Bytes returns the schema of a revision. The caller owns the slice.
func Bytes(revision string) ([]byte, error) {
	matches := func(r Revision) bool { return r.Revision == revision }
	if !slices.ContainsFunc(revisions(), matches) {
		return nil, fmt.Errorf("schema: unknown revision %q", revision)
	}
	return FS.ReadFile(revision + ".json")
}
