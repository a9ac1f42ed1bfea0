package peer

import "iter"

// mostVain is how many pages without elements are asked for in a row.
const mostVain = 1000

// Pages iterates over the elements of a paged list: fetch returns one page and
// the cursor of the next, nil after the last, and set puts a cursor into a
// request. It starts at the page that req asks for, nil for the first, stops at
// the first error, and ends where a cursor comes back or 1,000 pages in a row have
// no elements, which would go on forever. req itself is not changed.
func Pages[Req, T any](req *Req, set func(*Req, *string), fetch func(*Req) ([]T, *string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var next Req
		if req != nil {
			next = *req
		}
		seen := make(map[string]bool)
		for vain := 0; ; {
			page, cursor, err := fetch(&next)
			if err != nil {
				yield(nil, err)
				return
			}
			if vain++; len(page) > 0 {
				vain = 0
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			if cursor == nil || seen[*cursor] || vain == mostVain {
				return
			}
			seen[*cursor] = true
			set(&next, cursor)
		}
	}
}
