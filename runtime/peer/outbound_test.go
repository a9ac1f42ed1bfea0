package peer_test

import (
	"iter"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestSendRequestReturnsResultOfRequestType(t *testing.T) {
	out, req := &channel{reply: "yes"}, &ask{text: "?"}
	res, err := peer.SendRequest(t.Context(), out, req)
	require.NoError(t, err)
	require.Equal(t, "yes", res.text) // res is an *answer
	require.Same(t, req, out.sent[0])
	require.Same(t, res, out.result, "the channel decodes into the result that the request created")
}

func TestSendRequestReturnsNoResultWithError(t *testing.T) {
	res, err := peer.SendRequest(t.Context(), &channel{err: errBroken, reply: "half"}, &ask{})
	require.ErrorIs(t, err, errBroken)
	require.Nil(t, res)
}

func TestSendNotification(t *testing.T) {
	out, n := &channel{err: errBroken}, &tell{}
	require.ErrorIs(t, peer.SendNotification(t.Context(), out, n), errBroken)
	require.Same(t, n, out.sent[0])
}

func TestCallOptions(t *testing.T) {
	out := &channel{}
	header, frame := http.Header{"X": {"y"}}, &wire.Frame{}
	var reported []peer.Progress
	_, err := peer.SendRequest(t.Context(), out, &ask{}, peer.WithID(wire.IntID(7)), peer.WithTimeout(time.Second), peer.WithoutCancelNotification(),
		peer.WithHeader(header), peer.WithFrame(frame), peer.WithKey("k"), peer.OnProgress(func(p peer.Progress) { reported = append(reported, p) }))
	require.NoError(t, err)
	o := out.opts[0]
	require.Equal(t, wire.IntID(7), o.ID)
	require.Equal(t, time.Second, *o.Timeout)
	require.True(t, o.NoCancelNotification)
	require.Equal(t, peer.Header(header), o.Header)
	require.Same(t, frame, o.Frame)
	require.Equal(t, "k", o.Key)
	o.OnProgress(peer.Progress{Progress: 1})
	require.Len(t, reported, 1)
}

func TestWithAppliesOptionsToEachMessage(t *testing.T) {
	out := &channel{}
	view := peer.With(out, peer.WithTimeout(time.Second), peer.WithoutCancelNotification())
	_, err := peer.SendRequest(t.Context(), view, &ask{})
	require.NoError(t, err)
	_, err = peer.SendRequest(t.Context(), view, &ask{}, peer.WithTimeout(time.Minute))
	require.NoError(t, err)
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Equal(t, time.Second, *out.opts[0].Timeout)
	require.Equal(t, time.Minute, *out.opts[1].Timeout, "the option of the call takes precedence")
	require.True(t, out.opts[1].NoCancelNotification)
	require.True(t, out.opts[2].NoCancelNotification)
}

func TestWithWithoutOptionsReturnsOutbound(t *testing.T) {
	out := &channel{}
	require.Same(t, out, peer.With(out))
}

func TestWithDoesNotShareOptionsBetweenCalls(t *testing.T) {
	out := &channel{}
	opts := make([]peer.CallOption, 1, 8) // append must not write into the spare capacity
	opts[0] = peer.WithoutCancelNotification()
	view := peer.With(out, opts...)
	for _, id := range []int64{1, 2} {
		_, err := peer.SendRequest(t.Context(), view, &ask{}, peer.WithID(wire.IntID(id)))
		require.NoError(t, err)
	}
	require.Nil(t, opts[:2][1])
	require.Equal(t, wire.IntID(1), out.opts[0].ID)
	require.Equal(t, wire.IntID(2), out.opts[1].ID)
}

func TestStandaloneUsesChannelOfConnection(t *testing.T) {
	s := session{&channel{name: "request", alone: &channel{name: "connection"}}}
	view := peer.With(s, peer.Standalone())
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Empty(t, s.sent)
	require.Len(t, s.alone.sent, 1)

	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s), &tell{}))
	require.Len(t, s.sent, 1, "without the option, the channel of the request is used")
	s.sent = nil
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s, peer.WithoutCancelNotification()), &tell{}))
	require.Len(t, s.sent, 1, "with other options, too")
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s.channel, peer.Standalone()), &tell{}))
	require.Len(t, s.sent, 2, "a channel without a standalone channel is used itself")
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(peer.With(s.channel, peer.WithoutCancelNotification()), peer.Standalone()), &tell{}))
	require.Len(t, s.sent, 3)

	view = peer.With(peer.With(s, peer.WithoutCancelNotification()), peer.Standalone(), peer.WithKey("k"))
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Len(t, s.alone.sent, 2, "also if other options have been applied before")
	require.True(t, s.alone.opts[1].NoCancelNotification)
	require.Equal(t, "k", s.alone.opts[1].Key)
}

// list is a request for a page.
type list struct {
	cursor *string
	filter string
}

// bookingRequest is a paged list. It maps each cursor to a page; the first page is "start".
type bookingRequest struct {
	pages map[string]page
	asked []string
}

type page struct {
	items []int
	next  *string
	err   error
}

func to(cursor string) *string { return &cursor }

// all returns the elements, beginning with the page of the request.
func (b *bookingRequest) all(req *list) iter.Seq2[*int, error] {
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

// read collects the elements of an iteration.
func read(seq iter.Seq2[*int, error]) (items []int, err error) {
	for item, e := range seq {
		if e != nil {
			return items, e
		}
		items = append(items, *item)
	}
	return items, nil
}

func TestPagesFollowsCursors(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"start": {items: []int{1, 2}, next: to("b")}, "b": {next: to("c")}, "c": {items: []int{3}}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, items)
	require.Equal(t, []string{"start", "b", "c"}, b.asked)
}

func TestPagesFollowsEmptyCursor(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"start": {items: []int{1}, next: to("")}, "": {items: []int{2}}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, items)
}

func TestPagesEndsAtRepeatedCursor(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"start": {items: []int{1}, next: to("b")}, "b": {items: []int{2}, next: to("c")}, "c": {items: []int{3}, next: to("b")}}}
	items, err := read(b.all(nil))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, items)
	require.Equal(t, []string{"start", "b", "c"}, b.asked)
}

func TestPagesEndsAfterManyEmptyPages(t *testing.T) {
	for full, want := range map[int]int{0: 1000, 1000: 2000, 1001: 1000} { // the page that has an element, and how many pages are requested
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

func TestPagesStopsAtFirstError(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"start": {items: []int{1}, next: to("b")}, "b": {err: errBroken, items: []int{9}, next: to("c")}}}
	items, err := read(b.all(nil))
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, []int{1}, items)
	require.Equal(t, []string{"start", "b"}, b.asked)
}

func TestPagesFetchesOnDemand(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"start": {items: []int{1, 2}, next: to("b")}}}
	for item := range b.all(nil) {
		require.Equal(t, 1, *item)
		break
	}
	require.Equal(t, []string{"start"}, b.asked)
	b.asked = nil
	_ = b.all(nil)
	require.Empty(t, b.asked, "nothing is fetched before the iteration")
}

func TestPagesStartsAtRequestAndDoesNotChangeIt(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"b": {items: []int{2}, next: to("c")}, "c": {items: []int{3}}}}
	req := &list{cursor: to("b"), filter: "!"}
	for range 2 { // the same request returns the same list again
		items, err := read(b.all(req))
		require.NoError(t, err)
		require.Equal(t, []int{2, 3}, items)
		require.Equal(t, &list{cursor: to("b"), filter: "!"}, req)
	}
	require.Equal(t, []string{"b!", "c!", "b!", "c!"}, b.asked)
}

func TestPagesEndsAtPageThatNamesItself(t *testing.T) {
	b := &bookingRequest{pages: map[string]page{"b": {items: []int{2}, next: to("b")}}}
	items, err := read(b.all(&list{cursor: to("b")}))
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, items, "the cursor of the first page is not recorded")
}
