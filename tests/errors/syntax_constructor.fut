type color = Red | Green
