package program

import (
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
)

// WarnGlobLike warns of those regular expressions of an option that are meant to be globs.
func WarnGlobLike(log *zap.Logger, option string, exprs []string) {
	for _, expr := range exprs {
		if text := topicmatch.GlobLike(option, expr); text != "" {
			log.Warn(text, loglimit.Each())
		}
	}
}
