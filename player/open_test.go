package player

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// setIndexPos changes the index position in the header of a bag.
func setIndexPos(b []byte, pos uint64) []byte {
	b = bytes.Clone(b)
	at := bytes.Index(b, []byte("index_pos=")) + len("index_pos=")
	binary.LittleEndian.PutUint64(b[at:], pos)
	return b
}

// A bag without a good index is played as far as it goes, and what is missing counts.
func TestPlayWithoutIndex(t *testing.T) {
	t.Parallel()
	good := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Series(testplay.ConnA, "a", 0, 1, 2, 3)...)
	bag, err := bagfmt.NewReader(bytes.NewReader(good), int64(len(good)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, last, section := bag.Span(0).Pos, bag.Span(3).Pos, bag.IndexPos()
	tests := map[string]struct {
		bag      []byte
		messages uint64
		damage   int
		mended   int
	}{
		"unindexed":             {setIndexPos(good, 0), 4, 0, 0},
		"active":                {setIndexPos(good, 0)[:section], 4, 0, 0},
		"wrong index position":  {setIndexPos(good, uint64(section)+1), 4, 0, 1},
		"cut in its index":      {good[:section+10], 4, 0, 2},
		"cut before its index":  {good[:section], 4, 0, 1},
		"cut between chunks":    {good[:last], 3, 1, 0},
		"killed between chunks": {setIndexPos(good, 0)[:last], 3, 0, 0},
		"cut in a chunk":        {good[:last+100], 3, 2, 0},
		"killed in a chunk":     {setIndexPos(good, 0)[:last+100], 3, 1, 0},
		"cut in the first":      {good[:first+100], 0, 2, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bags := testplay.OpenBags(t, tc.bag)
			synctest.Test(t, func(t *testing.T) {
				stats := func() control.Stats {
					return control.Stats{Damage: control.DamageCount{Places: tc.damage, Messages: 0, Unknown: tc.damage}}
				} // none without a message
				s, err := playFake(t.Context(), newFakeGraph(), Options{Bags: bags, OnStart: func(c control.Control) { stats = c.Stats }})
				if err != nil {
					t.Fatal(err)
				}
				if got := stats().Damage; got != (control.DamageCount{Places: tc.damage, Messages: 0, Unknown: tc.damage}) {
					t.Errorf("live: %+v, want %d places with an unknown number of messages", got, tc.damage)
				}
				if s.Messages != tc.messages || len(s.Damage) != tc.damage || s.RebuiltIndexes != tc.mended || s.Lossy() != (tc.damage+tc.mended > 0) {
					t.Errorf("%d messages, damage %v, %d mended", s.Messages, s.Damage, s.RebuiltIndexes)
				}
			})
		})
	}
}

// Every old bag is played wholly.
func TestPlayOldVersions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../bagfmt/testdata/old/*.bag")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bags: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			b := testplay.OpenFile(t, file, bagfmt.ReaderOptions{})
			if b.Source().Info().Messages == 0 {
				return // nothing to play, as of any empty bag
			}
			var want []string
			for m, err := range rosbag.Messages(b.Source(), rosbag.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, m.Conn.Topic+" "+string(m.Data()))
			}
			synctest.Test(t, func(t *testing.T) {
				s, err := playFake(t.Context(), newFakeGraph(), Options{Bags: []*source.Recording{b}})
				if err != nil {
					t.Fatal(err)
				}
				// Cut files lose their last message, and say so.
				cut := strings.Contains(file, "truncated") || strings.Contains(file, "_cut") || strings.Contains(file, "badpos") || strings.Contains(file, "undeclared")
				if s.Messages != uint64(len(want)) || s.Lossy() != cut || len(s.Unplayable) > 0 {
					t.Errorf("%d of %d messages, damage %v, %d mended, unplayable %v", s.Messages, len(want), s.Damage, s.RebuiltIndexes, s.Unplayable)
				}
			})
		})
	}
}

// An encrypted bag is played with its key.
func TestPlayEncrypted(t *testing.T) {
	t.Parallel()
	const file = "../bagfmt/testdata/encrypted/cpp_lz4.bag"
	b := testplay.OpenFile(t, file, bagfmt.ReaderOptions{UnwrapKey: func(rosbag.Encryption) ([]byte, error) {
		return hex.DecodeString("218dbf0f368bd7d3535521751db84d27") // as in the tests of bagfmt
	}})
	synctest.Test(t, func(t *testing.T) {
		s, err := playFake(t.Context(), newFakeGraph(), Options{Bags: []*source.Recording{b}})
		if err != nil || s.Messages != 27 || s.Lossy() {
			t.Errorf("%d messages, %v, damage %v", s.Messages, err, s.Damage)
		}
	})
}
