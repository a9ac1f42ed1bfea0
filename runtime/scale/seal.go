package scale

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/sealed"
)

// keyUse is the use of the keys of a node.
const keyUse = "replicas"

const (
	randomSize = 25 // an id has 48 bytes, which is a size class of the Go runtime
	tagSize    = 8
)

// newTag returns the name of a replica. It is random: each process has another one.
func newTag() string { return rand.Text()[:tagSize] }

// newSessionID returns a session id: a random text, the tag of the replica, and a signature. The
// purpose is specific to the endpoint.
func newSessionID(ring sealed.Ring, purpose, tag string) string {
	text := rand.Text()[:randomSize] + "." + tag
	return text + "." + ring.Sign(purpose, text)
}

// parseSessionID returns the tag in a session id. An id that no replica made is not ok.
func parseSessionID(ring sealed.Ring, purpose, id string) (tag string, ok bool) {
	const size = randomSize + 1 + tagSize
	if len(id) <= size+1 || id[randomSize] != '.' || id[size] != '.' || strings.Contains(id[size+1:], ".") {
		return "", false
	}
	return id[randomSize+1 : size], ring.Signed(purpose, id[:size], id[size+1:])
}

// engineKey returns the key of a session in the engine. A reader of the engine cannot use the
// session, because the key does not contain its id.
func engineKey(purpose, id string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + id))
	return "s/" + base64.RawURLEncoding.EncodeToString(sum[:])
}
