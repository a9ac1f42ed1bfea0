package connection

import (
	"net/mail"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckEmail(t *testing.T) {
	for _, text := range []string{"a@b.c", "first.last+tag@example.com", "Ünïcode@exämple.com", `"a b"@c.d`, `"a\"b"@c.d`, "a@[192.0.2.1]", "a@localhost", "o'neill@x.y"} {
		require.NoError(t, checkEmail(text), text)
	}
	for _, text := range []string{
		"", "x", "@", "a@", "@b.c", "a b@c.d", "A <a@b.c>", "<a@b.c>", "a..b@c.d", ".a@b.c", "a.@b.c", "a@b..c", "a@.b", "a@b.", "a@b@c.d", `"a@b.c`, `a"b@c.d`, `"a"b"@c.d`, `"a\"@c.d`, `"@c.d`, `""x@c.d`,
		"a@[]", "a@[1", "a@b c", "a,b@c.d", "a@b.c\n", "\xff@b.c", "a@b.c (me)", "\"a\nb\"@c.d",
	} {
		require.Error(t, checkEmail(text), text)
	}
}

// FuzzCheckEmail compares with the parser of net/mail, which returns addresses without their quotation marks.
func FuzzCheckEmail(f *testing.F) {
	for _, text := range []string{"a@b.c", `"a b"@c.d`, `"a\\\"b"@c.d`, "a@[1.2.3.4]", "a..b@c", "A <a@b.c>", "a@b@c", "é@ü.de", "a@b.", "\"\"@a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := mail.ParseAddress(text)
		if !strings.HasPrefix(text, `"`) {
			require.Equal(t, err == nil && a.Address == text, checkEmail(text) == nil, "%q", text)
		} else if checkEmail(text) == nil {
			require.NoError(t, err, "%q", text)
		}
	})
}
