package definitions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Places that are no files.
const (
	// the table of noetic, with the texts that are installed if their md5sums are the same.
	NoeticName = "noetic"
	// the message packages for Python of this machine.
	InstalledName = "installed"
)

// LivePrefix begins a place that is a topic of a graph.
const LivePrefix = "ros://"

// Open opens the sets of places, in their order: folders, recordings, NoeticName, InstalledName. live
// opens those that begin with LivePrefix; nil refuses them. A folder that lacks what its messages are
// made of takes it from the other places, from what is installed, and from the table of noetic.
func Open(
	ctx context.Context, places []string, o bags.Options, live func(topic string) (Set, error),
) (List, error) {
	var all List
	var folders []*folder
	here := Installed()
	for _, place := range places {
		s, err := open(ctx, place, o, live, here)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", wording.Shown(place), err)
		}
		if f, ok := s.(*folder); ok {
			folders = append(folders, f)
		}
		all = append(all, s)
	}
	for _, f := range folders {
		f.rest = append(f.rest, all...)
		f.rest = append(f.rest, here, Noetic())
	}
	return all, nil
}

func open(ctx context.Context, place string, o bags.Options, live func(topic string) (Set, error),
	here Set,
) (Set, error) {
	if topic, ok := strings.CutPrefix(place, LivePrefix); ok {
		if live == nil {
			return nil, errors.New("no graph is asked for definitions here; name a folder, a recording or " +
				NoeticName)
		}
		return live(topic)
	}
	switch place {
	case NoeticName:
		return asInstalled{Noetic(), here}, nil
	case InstalledName:
		return here, nil
	}
	st, err := os.Stat(place)
	switch {
	case err == nil && st.IsDir() && !bags.IsROS2Directory(ctx, place):
		return OpenFolder(place)
	case err == nil && strings.HasSuffix(place, ".msg"):
		return nil, errors.New("is one file, which does not say the package; name its folder, PACKAGE/msg, or one above")
	}
	r, err := bags.Open(ctx, place, o)
	if err != nil {
		return nil, err
	}
	s := OfConnections(r.Connections())
	return s, r.Close()
}
