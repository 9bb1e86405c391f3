// Package audit verifies the bags of a place against the checksums of their uploads.
//
// An Audit owns its journal, the file that notes what is verified, so that an audit that was interrupted
// continues there. The command gobag audit calls it. It prints nothing and does not parse bags.
package audit

import (
	"context"
	"crypto/md5" //nolint:gosec // see below
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Verdict is what is known of a bag: a line of the journal.
type Verdict struct {
	Bag     string    `json:"bag"` // below the place
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modified"`
	Defect  string    `json:"defect,omitempty"` // empty: the bag is as it was uploaded
	// Unverified: the bag was not compared with a checksum, for the reason in Defect.
	Unverified bool `json:"unverified,omitempty"`

	again bool // the next audit is to try again
	gone  bool // it was deleted meanwhile
}

// Report is the result of an Audit.
type Report struct {
	Defects    []Verdict // by name
	Verified   int       // bags that were compared with a checksum
	Before     int       // of these, those that the journal has
	Unverified int       // bags that were not
}

// Audit verifies a place once.
type Audit struct {
	place    *bags.Place
	progress func(done, total int64)

	mu      sync.Mutex
	journal *os.File
	known   map[string]Verdict // from the journal, by bag
	report  Report
}

// Open opens the journal at a path, or with an empty path that of the place in the user's directory for
// caches. A file with other content is an error, and stays unchanged.
func Open(place *bags.Place, journal string) (*Audit, error) {
	a := &Audit{place: place, known: make(map[string]Verdict)}
	return a, a.openJournal(journal)
}

// Run verifies the bags that the journal does not have, and closes the journal. If all are verified, the
// journal is deleted; after an error, the next audit continues there. progress is called with the
// bytes that were read of those that are to be read, by one goroutine at a time.
func (a *Audit) Run(ctx context.Context, progress func(done, total int64)) (Report, error) {
	a.progress = progress
	err := errors.Join(a.verify(ctx), a.journal.Close())
	if err == nil {
		err = os.Remove(a.journal.Name())
	}
	slices.SortFunc(a.report.Defects, func(a, b Verdict) int { return strings.Compare(a.Bag, b.Bag) })
	return a.report, err
}

// inFlight is how many bags are read at the same time.
const inFlight = 4

// verify reads the bags that the journal does not have.
func (a *Audit) verify(ctx context.Context) error {
	var bags []store.Entry
	var total int64
	all, missing, odd, err := catalog.Inventory(ctx, a.place.Bucket)
	if err != nil {
		return err
	}
	for _, e := range all {
		if v, ok := a.known[e.Name]; ok && v.Size == e.Size && v.ModTime.Equal(e.ModTime) {
			if a.count(v); !v.Unverified {
				a.report.Before++
			}
			continue
		}
		bags = append(bags, e)
		total += e.Size
	}
	for _, bag := range missing {
		a.report.Defects = append(a.report.Defects,
			Verdict{
				Bag: bag, Defect: "is in the catalog, but not in the store: it is lost, or was deleted",
				Unverified: true,
			})
	}
	for _, name := range odd {
		a.count(Verdict{Bag: name, Defect: catalog.ErrName.Error(), Unverified: true})
	}
	if len(all)+len(missing)+len(odd) == 0 {
		return errors.New("no bags there")
	}
	var done int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, e := range bags {
		// owner: verify; ends when the bag is read or with ctx.
		group.Go(func() error {
			v, err := a.one(ctx, e, func(n int) {
				a.mu.Lock()
				defer a.mu.Unlock()
				done += int64(n)
				a.progress(done, total)
			})
			if err != nil || v.gone {
				return err
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.count(v)
			if v.again {
				return nil // the next run is to try again
			}
			return a.note(v)
		})
	}
	return group.Wait()
}

// count counts a bag, and remembers a defect.
func (a *Audit) count(v Verdict) {
	if v.Unverified {
		a.report.Unverified++
	} else {
		a.report.Verified++
	}
	if v.Defect != "" {
		a.report.Defects = append(a.report.Defects, v)
	}
}

// How often a bag is read at most, and the wait before the second time, which doubles.
const (
	attempts   = 4
	retryAfter = time.Second
)

// one reads a bag. An error means that nothing is known of it.
func (a *Audit) one(ctx context.Context, e store.Entry, progress func(int)) (v Verdict, err error) {
	v = Verdict{Bag: e.Name, Size: e.Size, ModTime: e.ModTime}
	for attempt := range attempts {
		if attempt > 0 {
			select {
			case <-time.After(retryAfter << attempt):
			case <-ctx.Done():
				return v, context.Cause(ctx)
			}
		}
		read := 0
		v.Defect, v.Unverified, err = a.defect(ctx, e.Name, func(n int) {
			read += n
			progress(n)
		})
		switch {
		case err == nil, ctx.Err() != nil:
			return v, err
		case errors.Is(err, store.ErrNotFound):
			v.gone = true
			return v, nil
		}
		progress(-read) // it is read again
		if errors.Is(err, store.ErrDenied) {
			break // another attempt is of no use
		}
	}
	if errors.Is(err, store.ErrUnreachable) {
		return v, fmt.Errorf("%s: %w", wording.Shown(a.place.Path(e.Name)), wording.Explain(err))
	}
	v.Defect, v.Unverified, v.again = "cannot be read: "+store.Message(err), true, true
	return v, nil
}

// defect reads a bag and returns what is wrong with it, if anything. unverified says that there is
// nothing to compare it with.
func (a *Audit) defect(
	ctx context.Context, bag string, progress func(int),
) (text string, unverified bool, err error) {
	want, err := a.place.Attributes(ctx, bag)
	if err != nil {
		return "", false, err
	}
	if want.SHA256 == "" && want.MD5 == nil {
		return "has no checksum: it was not uploaded by gorecord or gobag, and cannot be verified", true, nil
	}
	body, err := a.place.Read(ctx, bag)
	if err != nil {
		return "", false, err
	}
	defer body.Close()                  //nolint:errcheck // only read from
	sha, sum := sha256.New(), md5.New() //nolint:gosec // as stores report them; not for security
	n, err := io.Copy(io.MultiWriter(sha, sum, countingWriter(progress)), io.LimitReader(body, want.Size+1))
	got := hex.EncodeToString(sha.Sum(nil))
	switch {
	case err != nil:
		return "", false, err
	case n > want.Size:
		return fmt.Sprintf("the store sends more than the %d bytes that it has", want.Size), false, nil
	case n != want.Size:
		return fmt.Sprintf("the store sends %d bytes of %d", n, want.Size), false, nil
	case want.SHA256 != "" && got != want.SHA256:
		return fmt.Sprintf("is damaged: its SHA-256 is %s, that of the upload %s", got, want.SHA256), false, nil
	case want.SHA256 == "" && !slices.Equal(sum.Sum(nil), want.MD5):
		return fmt.Sprintf("is damaged: its MD5 is %x, that of the store %x", sum.Sum(nil), want.MD5), false, nil
	}
	return "", false, nil
}

// countingWriter calls a function with the length of each write.
type countingWriter func(n int)

// Write implements io.Writer.
func (w countingWriter) Write(p []byte) (int, error) {
	w(len(p))
	return len(p), nil
}
