package engine_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/engine/enginetest"
)

func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(engine.Memory)
		enginetest.Run(t, m, m)
	})
}

func TestMemoryUsesKeysAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(engine.Memory)
		for range 3 {
			_, err := m.Put(t.Context(), "key", []byte("data"), 0, time.Second)
			require.NoError(t, err)
			_, err = m.Append(t.Context(), "key", []byte("data"), 0, time.Second)
			require.NoError(t, err)
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestMemoryKeepsTheLastThousandEntries(t *testing.T) {
	m := new(engine.Memory)
	var last uint64
	for range 1100 {
		var err error
		last, err = m.Append(t.Context(), "key", []byte("data"), last, time.Hour)
		require.NoError(t, err)
	}
	list, err := m.Read(t.Context(), "key", 0)
	require.NoError(t, err)
	require.Len(t, list, 1000)
	require.Equal(t, last, list[999].Number)
}

func TestMemoryCopiesData(t *testing.T) {
	m, data := new(engine.Memory), []byte("data")
	_, err := m.Put(t.Context(), "key", data, 0, time.Hour)
	require.NoError(t, err)
	_, err = m.Append(t.Context(), "key", data, 0, time.Hour)
	require.NoError(t, err)
	copy(data, "xxxx")
	r, err := m.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, "data", string(r.Data))
	list, err := m.Read(t.Context(), "key", 0)
	require.NoError(t, err)
	require.Equal(t, "data", string(list[0].Data))
}

// brokenEngine has one fault.
type brokenEngine struct {
	*engine.Memory
	fault string
}

func (b *brokenEngine) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	switch b.fault {
	case "any version":
		if r, err := b.Memory.Get(ctx, key); err == nil {
			prev = r.Version
		}
	case "no end":
		keep = 1000 * time.Hour
	}
	return b.Memory.Put(ctx, key, data, prev, keep)
}

func (b *brokenEngine) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	if b.fault == "truncated" {
		data = bytes.TrimRight(data, "\x00")
	}
	return b.Memory.Append(ctx, key, data, prev, keep)
}

func (b *brokenEngine) Read(ctx context.Context, key string, after uint64) ([]engine.Entry, error) {
	if b.fault == "all entries" {
		after = 0
	}
	return b.Memory.Read(ctx, key, after)
}

func (b *brokenEngine) Drop(ctx context.Context, key string) error {
	if b.fault == "no drop" {
		return nil
	}
	return b.Memory.Drop(ctx, key)
}

func TestSuiteFindsFaults(t *testing.T) {
	for _, fault := range []string{"any version", "no end", "truncated", "all entries", "no drop"} {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &brokenEngine{new(engine.Memory), fault}
				require.Error(t, enginetest.Check(t.Context(), b, b))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m := new(engine.Memory)
		require.NoError(t, enginetest.Check(t.Context(), m, m))
	})
}
