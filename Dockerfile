# The service alone; its database is another container (compose.yaml).
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /annals
COPY requirements/run.txt requirements/run.txt
RUN /annals/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements/run.txt
COPY . .
RUN /annals/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home annals && install -d -o annals -m 700 /keys /log /archive
COPY --from=build /annals /annals
ENV PATH=/annals/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER annals
VOLUME /keys /log /archive
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["annals", "serve", "--host", "0.0.0.0", "--port", "8000"]
