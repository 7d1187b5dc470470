# docs/local.mk - the pages that README links to.
EXTRA_DIST += \
  docs/embedding.md \
  docs/files.md \
  docs/health.md \
  docs/limits.md \
  docs/machine.md \
  docs/middleware.md \
  docs/production.md \
  docs/proxies.md \
  docs/recipes.md \
  docs/rest-api.md \
  docs/streaming.md \
  docs/testing.md \
  docs/timeout.md \
  docs/uploads.md \
  docs/waiting.md
