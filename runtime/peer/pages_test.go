package peer_test

import (
	"iter"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

// list is a request for a page.
type list struct {
	cursor *string
	filter string
}

// book is a paged list: what follows each cursor, the first page at "start".
type book struct {
	pages map[string]page
	asked []string
}

type page struct {
	items []int
	next  *string
	err   error
}

func to(cursor string) *string { return &cursor }

// all reads the book from a request on.
func (b *book) all(req *list) iter.Seq2[*int, error] {
	return peer.Pages(req, func(req *list, cursor *string) { req.cursor = cursor }, func(req *list) ([]int, *string, error) {
		cursor := "start"
		if req.cursor != nil {
			cursor = *req.cursor
		}
		b.asked = append(b.asked, cursor+req.filter)
		p := b.pages[cursor]
		return p.items, p.next, p.err
	})
}

// read collects what an iteration yields.
func read(seq iter.Seq2[*int, error]) (items []int, err error) {
	for item, e := range seq {
		if e != nil {
			return items, e
		}
		items = append(items, *item)
	}
	return items, nil
}

func TestPagesFollowTheCursors(t *testing.T) {
	b := &book{pages: map[string]page{"start": {items: []int{1, 2}, next: to("b")}, "b": {next: to("c")}, "c": {items: []int{3}}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, items)
	require.Equal(t, []string{"start", "b", "c"}, b.asked)
}

func TestAnEmptyCursorIsACursor(t *testing.T) {
	b := &book{pages: map[string]page{"start": {items: []int{1}, next: to("")}, "": {items: []int{2}}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, items)
}

func TestACursorThatComesBackEndsTheList(t *testing.T) {
	b := &book{pages: map[string]page{"start": {items: []int{1}, next: to("b")}, "b": {items: []int{2}, next: to("c")}, "c": {items: []int{3}, next: to("b")}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, items)
	require.Equal(t, []string{"start", "b", "c"}, b.asked)
}

func TestManyPagesWithoutElementsEndTheList(t *testing.T) {
	for full, want := range map[int]int{0: 1000, 1000: 2000, 1001: 1000} { // by the page that has an element: how many are asked for
		n := 0
		seq := peer.Pages(new(list), func(req *list, cursor *string) { req.cursor = cursor }, func(*list) ([]int, *string, error) {
			if n++; n == 5000 {
				return nil, nil, errBroken
			}
			if n == full {
				return []int{n}, to(strconv.Itoa(n)), nil
			}
			return nil, to(strconv.Itoa(n)), nil
		})
		items, err := read(seq)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.Len(t, items, want/1000-1)
	}
}

func TestTheFirstErrorEndsTheList(t *testing.T) {
	b := &book{pages: map[string]page{"start": {items: []int{1}, next: to("b")}, "b": {err: errBroken, items: []int{9}, next: to("c")}}}
	items, err := read(b.all(nil))
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, []int{1}, items)
	require.Equal(t, []string{"start", "b"}, b.asked)
}

func TestNoPageIsFetchedForNothing(t *testing.T) {
	b := &book{pages: map[string]page{"start": {items: []int{1, 2}, next: to("b")}}}
	for item := range b.all(nil) {
		require.Equal(t, 1, *item)
		break
	}
	require.Equal(t, []string{"start"}, b.asked)
	b.asked = nil
	_ = b.all(nil)
	require.Empty(t, b.asked, "nothing is fetched before the iteration")
}

func TestTheRequestSaysWhereToBeginAndIsNotChanged(t *testing.T) {
	b := &book{pages: map[string]page{"b": {items: []int{2}, next: to("c")}, "c": {items: []int{3}}}}
	req := &list{cursor: to("b"), filter: "!"}
	for range 2 { // the same request twice gives the same list
		items, err := read(b.all(req))
		require.NoError(t, err)
		require.Equal(t, []int{2, 3}, items)
		require.Equal(t, &list{cursor: to("b"), filter: "!"}, req)
	}
	require.Equal(t, []string{"b!", "c!", "b!", "c!"}, b.asked)
}

func TestAPageThatNamesItselfEndsTheList(t *testing.T) {
	b := &book{pages: map[string]page{"b": {items: []int{2}, next: to("b")}}}
	items, err := read(b.all(&list{cursor: to("b")}))
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, items, "the list cannot know that it began there, but it ends")
}
