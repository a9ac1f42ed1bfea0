package rounds

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// anything returns random JSON in two spellings, which differ in the order of members, white
// space and escapes.
func anything(r *rand.Rand, depth int) [2]string {
	switch n := r.IntN(7); {
	case n == 0 && depth > 0:
		return members(r, "[", "]", r.IntN(4), false, func(int) [2]string { return anything(r, depth-1) })
	case n <= 2 && depth > 0:
		return members(r, "{", "}", r.IntN(5), true, func(i int) [2]string {
			name, value := some(r, fmt.Sprintf("n%d", i)), anything(r, depth-1)
			return [2]string{name[0] + ":" + value[0], name[1] + " : " + value[1]}
		})
	case n <= 4:
		return some(r, string(rune('a'+r.IntN(20))))
	case n == 5:
		number := fmt.Sprint(r.IntN(100), ".", r.IntN(100), "e", r.IntN(9))
		number = strings.ReplaceAll(number, " ", "")
		return [2]string{number, number}
	}
	word := []string{"true", "false", "null"}[r.IntN(3)]
	return [2]string{word, word}
}

// some returns a text in two spellings.
func some(r *rand.Rand, text string) [2]string {
	escaped := fmt.Sprintf(`"\u%04x%s"`, text[0], text[1:])
	plain := fmt.Sprintf("%q", text)
	if r.IntN(2) == 0 {
		return [2]string{plain, escaped}
	}
	return [2]string{escaped, plain}
}

func members(r *rand.Rand, begin, end string, n int, free bool, one func(i int) [2]string) [2]string {
	first, second := make([]string, n), make([]string, n)
	for i := range n {
		m := one(i)
		first[i], second[i] = m[0], m[1]
	}
	if free {
		r.Shuffle(n, func(i, j int) { second[i], second[j] = second[j], second[i] })
	}
	return [2]string{
		begin + strings.Join(first, ",") + end,
		begin + "\n" + strings.Join(second, "\t, ") + " " + end,
	}
}

func TestDigestIgnoresSpelling(t *testing.T) {
	seen := make(map[digest]string)
	for seed := range uint64(2000) {
		both := anything(rand.New(rand.NewPCG(seed, 1)), 4)
		one, err := digestOf("", "m", []byte(both[0]))
		require.NoError(t, err, both[0])
		two, err := digestOf("", "m", []byte(both[1]))
		require.NoError(t, err, both[1])
		require.Equal(t, one, two, "%s\n%s", both[0], both[1])

		form, err := canonical([]byte(both[0]))
		require.NoError(t, err)
		if other, has := seen[one]; has {
			require.Equal(t, other, string(form), "two meanings have one digest")
		}
		seen[one] = string(form)
	}
	require.Greater(t, len(seen), 500)
}

func TestDigestDependsOnMethodAndScope(t *testing.T) {
	seen := make(map[digest]bool)
	for _, c := range [][2]string{{"", "m"}, {"m", ""}, {"", "n"}, {"s", "m"}, {"sm", ""}, {"", "sm"}} {
		sum, err := digestOf(c[0], c[1], []byte(`{}`))
		require.NoError(t, err)
		require.False(t, seen[sum], c)
		seen[sum] = true
	}
	_, err := digestOf("", "m", json.RawMessage(`{`))
	require.Error(t, err)
}
