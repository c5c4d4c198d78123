package compat_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/homing-go/homing/internal/compat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPeers(t *testing.T) {
	compat.Run(t, openAIByMiddleware, openAIByWrap, goOpenAI, anthropicByMiddleware, anthropicByWrap, langChain, einoOpenAI, einoQwen)
}
