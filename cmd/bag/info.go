package main

import (
	"bufio"
	"errors"

	"github.com/gorosbag/gorosbag/internal/baginfo"
)

type infoFlags struct {
	JSON bool     `name:"json" help:"One line of JSON for each bag; includes frequencies."`
	Freq bool     `help:"Show how often messages come: 1/median period of each topic. Reads the index of every chunk."`
	Bags []string `arg:"" name:"bag" help:"Bag files."`
}

// Run prints the summary of each bag. A bag that cannot be read does not keep the
// others from being shown.
func (f *infoFlags) Run(out output) error {
	var failed error
	w := bufio.NewWriter(out.stdout)
	for n, path := range f.Bags {
		if err := f.one(w, path); err != nil {
			if err := w.Flush(); err != nil {
				return err
			}
			out.complain("%s: %v", printable(path), err)
			failed = errReported
			continue
		}
		if n < len(f.Bags)-1 && !f.JSON {
			_, _ = w.WriteString("---\n") // a bufio.Writer keeps its error for Flush
		}
	}
	return errors.Join(w.Flush(), failed)
}

func (f *infoFlags) one(w *bufio.Writer, path string) (err error) {
	bag, err := openBag(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bag.Close()) }()
	info, err := baginfo.New(path, bag.Reader, baginfo.Options{Frequencies: f.JSON || f.Freq})
	if err != nil {
		return explain(err)
	}
	if f.JSON {
		return info.WriteJSON(w)
	}
	return info.WriteText(w)
}
