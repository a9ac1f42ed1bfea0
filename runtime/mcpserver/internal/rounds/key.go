package rounds

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
)

// digest stands for a message: its method and params.
type digest [16]byte

// digestOf returns the digest of a message, in a memo that of its scope, too. The
// order of members, white space and the spelling of strings do not matter in it;
// the spelling of numbers does, so that no digit is lost.
func digestOf(scope, method string, params []byte) (digest, error) {
	canonical, err := canonical(params)
	if err != nil {
		return digest{}, err
	}
	h := sha256.New()
	h.Write(appendText(appendText(nil, scope), method))
	h.Write(canonical)
	return digest(h.Sum(nil)[:len(digest{})]), nil
}

// String is the digest as the key of a question.
func (d digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// canonical returns JSON in the one form that it has here. The JSON has been
// accepted by a scanner: names occur once, strings are text.
func canonical(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// nth is the key of the nth of several equal questions.
func nth(key string, n int) string {
	if n == 1 {
		return key
	}
	return key + "#" + strconv.Itoa(n)
}
