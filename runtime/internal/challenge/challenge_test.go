package challenge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChallengeRoundTrip(t *testing.T) {
	for text, c := range map[string]Challenge{
		"Bearer":             {"Bearer", map[string]string{}},
		`Bearer realm="mcp"`: {"Bearer", map[string]string{"realm": "mcp"}},
		`Bearer error="insufficient_scope", resource_metadata="https://a.example/.well-known/x?y=1,2", scope="a b:c"`: {"Bearer", map[string]string{
			"error": "insufficient_scope", "scope": "a b:c", "resource_metadata": "https://a.example/.well-known/x?y=1,2",
		}},
		`DPoP algs="ES256, \"none\" \\ "`: {"DPoP", map[string]string{"algs": `ES256, "none" \ `}},
	} {
		require.Equal(t, text, c.String())
		require.Equal(t, []Challenge{c}, parse(text))
	}
}

func TestChallengeEscapesLineEnds(t *testing.T) {
	c := Challenge{"Bearer", map[string]string{"error_description": "a\r\nSet-Cookie: b\"c\\"}}
	require.Equal(t, `Bearer error_description="aSet-Cookie: b\"c\\"`, c.String())
}

func TestParse(t *testing.T) {
	for line, want := range map[string][]Challenge{
		"":                              nil,
		" , ,":                          nil,
		"Basic":                         {{"Basic", map[string]string{}}},
		"Basic, Bearer":                 {{"Basic", map[string]string{}}, {"Bearer", map[string]string{}}},
		`Basic realm="a", Bearer x="y"`: {{"Basic", map[string]string{"realm": "a"}}, {"Bearer", map[string]string{"x": "y"}}},
		`bearer SCOPE = "a" , error=b`:  {{"bearer", map[string]string{"scope": "a", "error": "b"}}},
		`Bearer scope=a,error=b,Basic realm=c`: {
			{"Bearer", map[string]string{"scope": "a", "error": "b"}}, {"Basic", map[string]string{"realm": "c"}},
		},
		`Negotiate YWJj/+==, Bearer scope="x"`: {{"Negotiate", map[string]string{"ywjj/+": "="}}, {"Bearer", map[string]string{"scope": "x"}}},
		`Digest qop="auth, auth-int", Bearer error="a, Basic b=\"c\""`: {
			{"Digest", map[string]string{"qop": "auth, auth-int"}}, {"Bearer", map[string]string{"error": `a, Basic b="c"`}},
		},
		`Bearer scope="not closed`: {{"Bearer", map[string]string{"scope": "not closed"}}},
		`Bearer scope="ends in \`:  {{"Bearer", map[string]string{"scope": `ends in \`}}},
		`Bearer scope=`:            {{"Bearer", map[string]string{}}},
		`Bearer scope="", a="b"`:   {{"Bearer", map[string]string{"a": "b"}}},
		`="a", Bearer`:             nil,
		`Bearer a="b" ; c="d"`:     {{"Bearer", map[string]string{"a": "b"}}},
		"\x00Bearer":               nil,
	} {
		require.Equal(t, want, parse(line), line)
	}
}

func TestFind(t *testing.T) {
	for _, lines := range [][]string{
		{`Basic realm="a"`, `BEARER scope="a b"`},
		{`Basic realm="a", Bearer scope="a b"`},
		{"Negotiate", `Negotiate YWJj==, Bearer scope="a b", Basic`},
	} {
		c := Find(http.Header{"Www-Authenticate": lines}, "Bearer")
		require.Equal(t, "a b", c.Params["scope"], lines)
	}
	for _, lines := range [][]string{nil, {""}, {"Basic"}, {`Basic realm="Bearer"`}, {"Bearer=x"[6:]}} {
		require.Zero(t, Find(http.Header{"Www-Authenticate": lines}, "Bearer"), lines)
	}
}

func TestReason(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                           {"Basic", `Bearer realm="a"`},
		"invalid_token":              {`Basic realm="a"`, `Bearer error="invalid_token"`},
		`invalid_token "it expired"`: {`Bearer realm="a", DPoP error="invalid_token", error_description="it expired"`},
		`"no error"`:                 {`Bearer error_description="no error"`},
	} {
		require.Equal(t, want, Reason(http.Header{"Www-Authenticate": lines}))
	}
}

func FuzzParseChallenges(f *testing.F) {
	for _, line := range []string{`Bearer a="b", c=d`, `Negotiate YWJj==, Bearer`, `Bearer a="\`, ",,=", "a b c=", "Basic \xff=\"\xfe\""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, c := range parse(line) {
			if strings.ContainsAny(line, "\r\n") { // cannot be in a header
				continue
			}
			require.NotEmpty(t, c.Scheme)
			require.Equal(t, []Challenge{c}, parse(c.String()), line)
		}
	})
}
