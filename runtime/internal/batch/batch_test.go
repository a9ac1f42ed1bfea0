package batch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/batch"
)

func TestRead(t *testing.T) {
	list, err := batch.Read([]byte(` [{"a": 1} , 2,"x"] `))
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, `{"a": 1}`, string(list[0]))

	list, err = batch.Read([]byte(`[]`))
	require.NoError(t, err)
	require.Empty(t, list)

	for _, data := range []string{`[`, `{}`, `[1,]`, `[1] 2`} {
		_, err = batch.Read([]byte(data))
		require.Error(t, err, data)
	}
}

func TestReadLimitsTheMessages(t *testing.T) {
	array := func(n int) []byte { return []byte("[" + strings.Repeat("1,", n-1) + "1]") }
	list, err := batch.Read(array(batch.MaxMessages))
	require.NoError(t, err)
	require.Len(t, list, batch.MaxMessages)
	_, err = batch.Read(array(batch.MaxMessages + 1))
	require.Error(t, err)
}

func TestAppend(t *testing.T) {
	b := batch.Append(nil, []byte(`{"id":1}`))
	b = batch.Append(b, []byte(`{"id":2}`))
	require.Equal(t, `[{"id":1},{"id":2}`, string(b))
}
