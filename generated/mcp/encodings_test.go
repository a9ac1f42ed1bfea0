package mcp

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var encodingsFile = flag.String("encodings", "", "`file` to write the hashes of all encodings to, for a comparison with the code of other schemas")

// TestEncodingsForOtherRevisions decodes the documents of each definition, and encodes the
// values for each revision that has the definition. Either the encoder rejects the value,
// or its JSON is valid in that revision.
func TestEncodingsForOtherRevisions(t *testing.T) {
	tested := testedSubjects()
	written, rejected := 0, 0
	var hashes strings.Builder
	for _, s := range subjects() {
		validated := slices.Contains(tested, s)
		if !validated && *encodingsFile == "" {
			continue
		}
		for _, file := range schemas() {
			other := subjectFor(file.revision, s.definition)
			if other == nil || other.goType() != s.goType() {
				continue // the revision has no such definition, or another type of this name
			}
			hash := sha256.New()
			for _, doc := range s.documents() {
				v, err := s.decode(render(doc, sorted))
				require.NoError(t, err, s)
				out, err := other.encode(v)
				fmt.Fprintf(hash, "%t %s\n", err == nil, out)
				switch {
				case err != nil:
					rejected++
				case validated && other != s:
					require.NoError(t, newComparison(other, out).validate(passedThrough), "%v for %v: %s", s, file.revision, out)
					written++
				}
			}
			fmt.Fprintf(&hashes, "%v %v %x\n", s, file.revision, hash.Sum(nil))
		}
	}
	t.Logf("%d values encoded, %d rejected", written, rejected)
	require.Greater(t, written, 1000)
	require.Greater(t, rejected, 10)
	if *encodingsFile != "" {
		require.NoError(t, os.WriteFile(*encodingsFile, []byte(hashes.String()), 0o600))
	}
}
